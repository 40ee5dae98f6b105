"""A Hub of another interface is refused clearly by client and index, in both directions; with the real Hub of before.

``former-hub`` names the last commit before the Hub announced its rosters and delivery keys.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from bounty_protocol.auth.typed_data import SigningDomain
from bounty_protocol.auth.verify import Authority, ReceivedRequest, Refused, verify_request
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.json_rpc import JsonRpc
from bounty_protocol.clock import SystemClock
from bounty_protocol.types import Address, BlockNumber, ChainId
from local_stack import anvil
from local_stack.contract import deploy, read_artifact
from service_common.chain.block_cache import BlockCache
from service_common.db.hub_reads import read_head
from service_indexer.follower import Halted, advance
from service_indexer.source import RpcSource
from service_indexer.writer import only_writer

from tests.cli.api_twin import ApiTwin, refusal
from tests.cli.ledger import LONG_AGO, Ledger, make_ledger
from tests.cli.servers import Reply, Request
from tests.cli.terminal import Terminal
from tests.protocol.auth.signing import PLAIN_KEYS
from tests.servers import DatabaseServer, database_server
from tests.upgrade.former import source_of

__all__ = ["database_server"]

FORMER: Final = Path(__file__).with_name("former-hub").read_text(encoding="ascii").strip()
CLIENT: Final = 'import sys; from service_cli.main import main; sys.argv[0] = "service-cli"; main()'
INDEX: Final = """
import sys
from service_common.chain.events import decode_log
from service_common.chain.json_rpc import JsonRpc
from service_common.types import Address, BlockNumber
from service_indexer.source import RpcSource
source = RpcSource(JsonRpc([sys.argv[1]]), Address(sys.argv[2]))
for log in source.logs_of_range(BlockNumber(0), BlockNumber(int(sys.argv[3]))).logs:
    print(type(decode_log(log)).__name__)
"""


@dataclass(frozen=True, slots=True)
class TwoHubs:
    """A chain with today's Hub and the former one, on the same token."""

    ledger: Ledger
    former: Address

    def terminal(self, home: Path, api: ApiTwin, person: str, hub: Address) -> Terminal:
        """Today's client, with one person's keys."""
        keys = self.ledger.people.by_name()[person].variables()
        chain = {"SERVICE_RPC_URL": self.ledger.node.url, "SERVICE_HUB_ADDRESS": hub}
        return Terminal(home, {**api.variables(), **keys, **chain})


@pytest.fixture(scope="module")
def hubs() -> Iterator[TwoHubs]:
    with anvil.start(mining="automine", genesis_time=int(time.time()) - LONG_AGO) as node, make_ledger(node) as ledger:
        owner, terms = ledger.people.owner.wallet, ledger.hub.terms
        owner.forget_nonce()
        config = (
            *(ledger.token.address, owner.address, terms.reveal_delay, terms.min_submission_window),
            *(terms.max_submission_window, terms.min_judging_window, terms.max_judging_window, terms.min_escrow),
            *(terms.protocol_fee_bps, terms.guardian_fee_bps, owner.address),
        )
        hub = deploy(node.w3, owner, read_artifact(source_of(FORMER) / "contracts/artifacts/Hub.json"), config)
        accounts, keys, quorum = roster(ledger)
        hub.transact(owner, "publishRoster", accounts, keys, quorum)
        node.mine(3)
        yield TwoHubs(ledger, Address(hub.address))


def roster(ledger: Ledger) -> tuple[list[str], list[bytes], int]:
    """The members of today's Hub's roster."""
    _, quorum, accounts, keys, *_ = ledger.contract.call("getRoster", 1)
    return list(accounts), list(keys), int(quorum)


def balance(hubs: TwoHubs) -> int:
    """What the Poster holds of the token."""
    return int(hubs.ledger.token.call("balanceOf", hubs.ledger.people.poster.wallet.address))


@pytest.fixture
def api(hubs: TwoHubs) -> Iterator[ApiTwin]:
    with closing(ApiTwin(hubs.ledger)) as twin:
        yield twin


COMMANDS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "publishing": ("poster", ("poster:publish-fund", "page.md")),
    "claiming": ("solver-1", ("claim", "1")),
    "diagnosing": ("poster", ("doctor",)),
}


@pytest.mark.parametrize("doing", COMMANDS)
def test_client__on_the_hub_of_before__is_refused_in_a_sentence(
    hubs: TwoHubs, api: ApiTwin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, doing: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.md").write_bytes(hubs.ledger.page())
    person, command = COMMANDS[doing]
    ran = hubs.terminal(tmp_path, api, person, hubs.former).run(*command, code=1)
    assert f"The Hub at {hubs.former} is of an earlier release than this client." in ran.stdout
    assert "signing:" not in ran.words


def test_index__of_the_hub_of_before__halts(hubs: TwoHubs, database_server: DatabaseServer) -> None:
    database, rpc = database_server.new(), JsonRpc([hubs.ledger.node.url])
    chain_id = ChainId(hubs.ledger.node.chain_id)
    with closing(database):
        start = header_at(rpc, BlockNumber(0))
        with only_writer(database.engine("service_indexer"), chain_id, hubs.former, start) as writer:
            source = RpcSource(rpc, hubs.former)
            with pytest.raises(Halted, match="it is of another release; use the release made for it"):
                advance(source, writer)
        with database.engine("service_api").connect() as connection:
            head = read_head(connection, chain_id)
        assert head is not None
        assert head.halted is not None


def run_former(code: str, *arguments: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """The packages as they were, on the interpreter and libraries of today."""
    source = source_of(FORMER)
    packages = ("cli/src", "services/indexer/src", "libs/service_common/src", "libs/bounty_protocol/src")
    path = os.pathsep.join(str(source / package) for package in packages)
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**environment, "PATH": os.environ["PATH"], "PYTHONPATH": path},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_index_of_before__stops_at_the_first_log_of_this_hub(hubs: TwoHubs) -> None:
    hub = hubs.ledger.hub
    ran = run_former(INDEX, hubs.ledger.node.url, hub.hub.address, str(hub.deploy_block), environment={})
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert "a log with a topic that the Hub does not emit" in ran.stderr


def test_client_of_before__with_its_own_hub_at_the_api_of_this_one__is_refused_and_told_which_hub(
    hubs: TwoHubs, api: ApiTwin, tmp_path: Path
) -> None:
    """What an operator's change of the Hub does to people who have not upgraded: no money moves."""
    authority = Authority(SigningDomain(api.chain_id, api.hub.address), api.url.removeprefix("http://"), 150)
    blocks = BlockCache(api.rpc, SystemClock(), window=authority.window, block_time=1.0)

    def verify(request: Request) -> Reply | None:
        header = (request.headers["authorization"],)
        received = ReceivedRequest(request.method, request.path, request.query, request.body, header)
        try:
            verify_request(received, authority, blocks, PLAIN_KEYS)
        except Refused as error:
            return refusal(error.status, error.code, error.message)
        return None

    api.scripts["publish"] = verify
    page = tmp_path / "page.md"
    page.write_bytes(hubs.ledger.page())
    held = balance(hubs)
    variables = hubs.terminal(tmp_path, api, "poster", hubs.former).variables()
    ran = run_former(CLIENT, "poster:publish-fund", str(page), environment=variables)
    assert ran.returncode == 1, ran.stderr
    assert f"on chain {api.chain_id}, Hub {api.hub.address}, host" in ran.stdout
    assert balance(hubs) == held


def test_client_of_before__funds_on_this_hub_what_it_would_have_funded(
    hubs: TwoHubs, api: ApiTwin, tmp_path: Path
) -> None:
    """Nothing in it notices: the calls that it makes mean the same, and the Hub refuses all that does not fit."""
    page = tmp_path / "page.md"
    page.write_bytes(hubs.ledger.page())
    address = Address(hubs.ledger.contract.address)
    variables = hubs.terminal(tmp_path, api, "poster", address).variables()
    ran = run_former(CLIENT, "poster:publish-fund", str(page), environment=variables)
    assert ran.returncode == 0, ran.stderr
    created = json.loads(ran.stdout.splitlines()[-1])
    bounty = hubs.ledger.contract.call("getBounty", int(created["bounty_id"]))
    assert (bounty[0].lower(), bounty[6]) == (hubs.ledger.people.poster.wallet.address, 1)
