"""``poster:publish-fund``: funds once, and only what was read; lies and accidents never move money."""

import io
import sys
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.deployment import deployment_of
from bounty_protocol.chain.rpc import mapping
from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.types import Address, ChainId
from service_cli.acts.publish import confirm
from service_cli.chain.session import ChainClient
from service_cli.config.environment import Environment
from service_cli.config.settings import Settings
from service_cli.errors import CommandRefused
from service_cli.queries.conditions import read_conditions

from tests.campaign import some
from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.kill import run_killed
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.lies import lie_at
from tests.cli.plays.forgeries.conditions import STATE
from tests.cli.servers import Params, RpcProxy
from tests.cli.terminal import Ran, Terminal

AUTHORIZED = "0x" + hub_abi().functions["createBountyWithAuthorization"].selector.hex()


@pytest.fixture
def page(ledger: Ledger, poster: Terminal) -> Path:
    path = poster.home / "bounty_challenge.md"
    path.write_bytes(ledger.page())
    return path


def balance(ledger: Ledger) -> int:
    return int(ledger.token.call("balanceOf", ledger.people.poster.address))


@pytest.mark.spec(2, 9, 209, 239, 240, 338, 339)
def test_honest_deployment_creates_the_bounty_once(ledger: Ledger, api: ApiTwin, poster: Terminal, page: Path) -> None:
    before = balance(ledger)
    ran = poster.run("poster:publish-fund", str(page))
    assert ran.names == ["publish_fund.publication_prepared", "publish_fund.bounty_created"]
    prepared, created = ran.events
    assert prepared == {
        "event": "publish_fund.publication_prepared",
        "spec_commitment": spec_commitment(page.read_bytes()),
        "byte_length": len(page.read_bytes()),
        "poster": ledger.people.poster.address,
        "hub_address": ledger.contract.address,
        "escrow_amount": str(ESCROW),
        "submission_deadline": prepared["submission_deadline"],
    }
    assert set(created) == {"event", "tx_hash", "block_number", "bounty_id", "spec_commitment"}
    assert before - balance(ledger) == ESCROW
    assert ran.words.count("signing: let the Hub") == 1
    sent = mapping(ledger.node.rpc.call("eth_getTransactionByHash", created["tx_hash"]))
    assert str(sent["input"]).startswith(AUTHORIZED)
    again = poster.run("poster:publish-fund", str(page))
    assert again.events == (created,)
    assert before - balance(ledger) == ESCROW


def test_page_the_rules_refuse_sends_nothing(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: Path
) -> None:
    page.write_bytes(ledger.page().replace(b"It prints 1.", b"It prints TBD."))
    refused = poster.run("poster:publish-fund", str(page), code=1).last
    assert refused["code"] == "page_not_ready"
    (issue,) = cast("list[dict[str, str]]", refused["issues"])
    assert issue["path"] == "acceptance_criteria[0]"
    assert issue["message"].startswith("Line 9: ")
    assert f"poster:check {page}" in str(refused["next_action"])
    assert (rpc.sent(), api.approvals()) == (0, [])


@pytest.mark.spec(51, 210, 237)
def test_stdin_takes_the_exact_bytes(ledger: Ledger, api: ApiTwin, poster: Terminal) -> None:
    page = ledger.page().replace(b"\n", b"\r\n", 0) + "Ümlaut – ☃\n".encode()
    ran = poster.run("poster:publish-fund", "-", stdin=page)
    assert ran.last["spec_commitment"] == spec_commitment(page)
    assert api.pages[spec_commitment(page)] == page


TERMS = [("create_bounty", "args", 0, i) for i in range(7)]
LIES: list[tuple[str | int, ...]] = [
    ("spec_commitment",),
    ("byte_length",),
    ("chain_id",),
    ("hub_address",),
    ("escrow_token_address",),
    ("poster_address",),
    ("fee_policy", "protocol_fee_bps"),
    ("fee_policy", "guardian_fee_bps"),
    ("fee_policy", "protocol_fee_recipient"),
    ("guardian_roster", "version"),
    ("guardian_roster", "guardian_roster_hash"),
    ("guardian_roster", "quorum"),
    ("guardian_roster", "members", 1, "guardian_address"),
    ("guardian_roster", "members", 2, "encryption_public_key"),
    ("create_bounty", "function_name"),
    ("create_bounty_with_authorization", "function_name"),
    ("create_bounty_with_authorization", "args", 1),
    ("create_bounty_with_authorization", "args", 2),
    *TERMS,
    ("create_bounty_with_authorization", "args", 0, 6),
]


@pytest.mark.spec(25, 238, 242, 243)
def test_api_that_lies_in_a_field_signs_the_request(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: Path
) -> None:
    for path in some("lies of a publication", LIES, 6):
        api.lies["publish"] = lie_at(*path)
        ran = poster.run("poster:publish-fund", str(page), code=1)
        assert ran.last["code"] == "publication_mismatch", path
        assert ran.words.count("signing:") == 1, path
    assert rpc.sent() == 0


DECIMALS = "0x313ce567"


def with_decimals(rpc: RpcProxy, answer: object) -> None:
    """The endpoint answers this for the token's decimals."""

    def after(method: str, params: Params, result: object) -> object:
        call = params[0] if params else None
        return answer if isinstance(call, dict) and call.get("data") == DECIMALS else result

    rpc.after = after


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (hex(5), "token_decimals_mismatch"),
        (hex(255), "chain_unavailable"),
        (6, "chain_unavailable"),
    ],
)
def test_decimals_of_one_endpoint_are_not_believed(
    api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: Path, answer: object, code: str
) -> None:
    """Between 0 and 255 they were accepted and funded."""
    with_decimals(rpc, answer)
    ran = poster.run("poster:publish-fund", str(page), code=1)
    assert ran.last["code"] == code
    assert (rpc.sent(), "signing:" in ran.words, api.approvals()) == (0, False, [])
    rpc.honest()
    assert poster.run("poster:publish-fund", str(page)).last["event"] == "publish_fund.bounty_created"


@pytest.mark.spec(27)
def test_decimals_are_those_of_the_network_s_record(api: ApiTwin) -> None:
    record = deployment_of(ChainId(8453))
    assert record is not None
    assert record.escrow_token_decimals == 6
    here = replace(record, hub_address=api.hub.address, escrow_token_address=api.hub.token())
    settings = Settings(Environment(api.variables(), {}), ChainId(31337), here, None)
    assert ChainClient(settings).token.decimals == 6
    other = replace(settings, record=replace(here, escrow_token_decimals=18))
    with pytest.raises(CommandRefused) as refused:
        read_conditions(ChainClient(other))
    assert refused.value.code == "token_decimals_mismatch"
    unknown = replace(settings, record=replace(here, escrow_token_address=Address("0x" + "11" * 20)))
    assert read_conditions(ChainClient(unknown)).constants.token.decimals == 6


@pytest.mark.spec(206)
def test_values_of_another_deployment_are_refused(ledger: Ledger, rpc: RpcProxy, poster: Terminal, page: Path) -> None:
    other = ledger.people.owner.address
    for name, value in (
        ("SERVICE_HUB_ADDRESS", other),
        ("SERVICE_ESCROW_TOKEN_ADDRESS", other),
        ("SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS", "3600"),
    ):
        mixed = Terminal(poster.home, {**poster.environment, name: value})
        ran = mixed.run("poster:publish-fund", str(page), code=1)
        assert ran.last["code"] == "deployment_mismatch"
        assert "signing:" not in ran.words


@pytest.mark.spec(239)
def test_expired_authorization_is_signed_again(ledger: Ledger, rpc: RpcProxy, poster: Terminal) -> None:
    before = balance(ledger)
    page = poster.home / "slow.md"
    page.write_bytes(ledger.page(seconds=20_000))
    rpc.refuse_transactions()
    assert poster.run("poster:publish-fund", str(page), code=1).last["code"] == "transaction_refused"
    ledger.advance_to(ledger.time() + 3_700)
    rpc.honest()
    ran = poster.run("poster:publish-fund", str(page))
    assert ran.words.count("let the Hub") == 1
    assert before - balance(ledger) == ESCROW


@pytest.mark.spec(241, 340)
def test_token_without_authorizations_is_allowed(ledger: Ledger, rpc: RpcProxy, poster: Terminal, page: Path) -> None:
    before = balance(ledger)
    rpc.before = no_authorizations
    ran = poster.run("poster:publish-fund", str(page))
    assert ran.names == [
        "publish_fund.publication_prepared",
        "publish_fund.token_approved",
        "publish_fund.bounty_created",
    ]
    assert ran.event("publish_fund.token_approved")["amount"] == str(ESCROW)
    assert "let the Hub" not in ran.words
    assert before - balance(ledger) == ESCROW
    assert ledger.token.call("allowance", ledger.people.poster.address, ledger.contract.address) == 0
    assert poster.run("poster:publish-fund", str(page)).names == ["publish_fund.bounty_created"]
    assert before - balance(ledger) == ESCROW


def no_authorizations(method: str, params: list[object]) -> dict[str, object] | None:
    """As a token that has no authorizationState."""
    call = params[0] if params else None
    if method == "eth_call" and isinstance(call, dict) and str(call.get("data")).startswith(STATE):
        return {"error": {"code": 3, "message": "execution reverted", "data": "0x"}}
    return None


def test_check_previews_costs_without_a_key(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: Path
) -> None:
    keyless = poster.without_keys()
    ran = keyless.run("poster:publish-fund", "--check", str(page))
    checked = ran.event("publish_fund.checked")
    assert (checked["protocol_fee"], checked["guardian_fee"]) == (str(ESCROW // 100), str(ESCROW * 3 // 100))
    assert checked["winner_award"] == str(ESCROW * 96 // 100)
    assert int(str(checked["reveal_at"])) == int(str(checked["submission_deadline"])) + 60
    assert int(str(checked["gas_cost_at_most"])) > 0
    assert (rpc.sent(), api.server.requests) == (0, [])
    poor = keyless.run("poster:publish-fund", "--check", "--poster-address", "0x" + "77" * 20, str(page), code=1)
    assert poor.last["code"] == "balance_insufficient"
    judge = ledger.people.guardians[0].address
    refused = keyless.run("poster:publish-fund", "--check", "--poster-address", judge, str(page), code=1).last
    assert (refused["code"], "another account" in str(refused["next_action"])) == ("terms_refused", True)


@pytest.mark.parametrize(("sends", "again"), [(False, ()), (True, ("--again",))], ids=["simulated", "sent again"])
def test_two_machines_take_one_escrow(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, second: RpcProxy, poster: Terminal, page: Path, tmp_path: Path,
    sends: bool, again: tuple[str, ...],
) -> None:  # fmt: skip
    """Each machine drew a salt of its own: both escrows were taken."""
    words, other = ("poster:publish-fund", *again, str(page)), person(ledger, api, second, tmp_path / "other", "poster")
    if again:
        poster.run("poster:publish-fund", str(page))
    held, bounties, ran = balance(ledger), ledger.bounty_count(), list[Ran]()

    def before(method: str, params: Params) -> None:
        is_simulated = method == "eth_call" and AUTHORIZED in str(params[0])
        if not ran and (method == "eth_sendRawTransaction" if sends else is_simulated):
            ran.append(other.run(*words))

    rpc.before = before
    first = poster.run(*words)
    assert [each.last for each in ran] == [first.last]
    assert (held - balance(ledger), ledger.bounty_count() - bounties) == (ESCROW, 1)


def test_again_funds_once_more(ledger: Ledger, rpc: RpcProxy, poster: Terminal, page: Path) -> None:
    before, words = ledger.bounty_count(), ("poster:publish-fund", "--again", str(page))
    first = poster.run("poster:publish-fund", str(page)).last["bounty_id"]
    second = poster.run(*words).last["bounty_id"]
    run_killed(poster, rpc, *words, method="eth_sendRawTransaction", forward=True)
    third = poster.run(*words).last["bounty_id"]  # the one that was killed
    assert (len({first, second, third}), ledger.bounty_count()) == (3, before + 3)
    assert poster.run("poster:publish-fund", str(page)).last["bounty_id"] == first


class Typed(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def settings(chain_id: int) -> Settings:
    return Settings(Environment({}, {}), ChainId(chain_id), None, None)


@pytest.mark.parametrize("typed", ["", "\n", "y\n", "no\n", "YES\n"])
def test_mainnet_without_yes_signs_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str
) -> None:
    monkeypatch.setattr(sys, "stdin", Typed(typed))
    with pytest.raises(CommandRefused) as refused:
        confirm(settings(8453), "put 5 base units into escrow", yes=False)
    assert refused.value.code == "not_confirmed"
    told = capsys.readouterr()
    assert (told.out, "put 5 base units into escrow on mainnet" in told.err) == ("", True)
