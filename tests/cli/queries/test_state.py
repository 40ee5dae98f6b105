"""A bounty as an act rests on it: whose word its keys and times are, and an index that is behind."""

from collections.abc import Callable
from pathlib import Path

import pytest
from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.rpc import mapping
from bounty_protocol.shapes import to_json
from bounty_protocol.types import Address, BlockNumber, Bytes32, ChainId, UnixSeconds
from bounty_protocol.wire.deployment import DeploymentStatus, IndexPosition
from bounty_protocol.wire.values import IndexState
from service_cli.queries import state

from tests.cli.api_twin import ApiTwin, refusal
from tests.cli.ledger import Ledger
from tests.cli.liar import After
from tests.cli.servers import Params, Reply, Request, RpcProxy, as_json
from tests.cli.submitted import Submitted, load
from tests.cli.terminal import Ran, Terminal


@pytest.fixture
def work(solver: Terminal) -> Path:
    folder = solver.home / "work"
    folder.mkdir()
    (folder / "main.py").write_text("print(1)\n")
    return folder


def submit(solver: Terminal, bounty: str, *options: str, code: int = 0) -> Ran:
    return solver.run("solver:submit", *options, bounty, "work", code=code)


@pytest.mark.usefixtures("work")
def test_solver_is_told_whose_word_the_keys_are(rpc: RpcProxy, second: RpcProxy, solver: Terminal, bounty: str) -> None:
    ran = solver.run("solver:submit", "--check", bounty, "work")
    assert "this run trusts the RPC endpoint at 127.0.0.1" in ran.words
    assert "and the API at 127.0.0.1" in ran.words
    more = solver.run("solver:submit", bounty, "work", SERVICE_RPC_URLS=second.url)
    assert more.words.count("the RPC endpoint at 127.0.0.1") == 2
    assert more.words.index("this run trusts") < more.words.index("sealing ")


def newest_is(later: Callable[[], int]) -> After:
    """The newest block is so many blocks later than it is."""

    def after(method: str, params: Params, result: object) -> object:
        if method == "eth_getBlockByNumber" and params[0] == "latest" and isinstance(result, dict):
            return {**result, "number": hex(int(str(result["number"]), 16) + later())}
        return result

    return after


def noting_blocks(blocks: list[object]) -> Callable[[str, Params], None]:
    """Note at which blocks a bounty is read."""
    selector = "0x" + hub_abi().functions["getBounty"].selector.hex()

    def before(method: str, params: Params) -> None:
        if method == "eth_call" and str(mapping(params[0])["data"]).startswith(selector):
            blocks.append(params[1])

    return before


@pytest.mark.usefixtures("work")
def test_terms_are_compared_at_the_newest_block_of_all(
    rpc: RpcProxy, second: RpcProxy, solver: Terminal, bounty: str
) -> None:
    first_asked, second_asked = list[object](), list[object]()
    rpc.before, second.before = noting_blocks(first_asked), noting_blocks(second_asked)
    behind = iter([-2, -1])
    second.after = newest_is(lambda: next(behind, 0))
    ran = solver.run("solver:submit", bounty, "work", SERVICE_RPC_URLS=second.url)
    assert ran.last["event"] == "submit.submission_recorded"
    assert second_asked
    assert set(second_asked) <= set(first_asked) - {"latest"}


def status_at(ledger: Ledger, number: int) -> Callable[[Request], Reply]:
    """How an API does whose index has come as far as this block."""
    block = ledger.node.w3.eth.get_block(number)
    hash_of, moment = Bytes32("0x" + bytes(block["hash"]).hex()), UnixSeconds(block["timestamp"])
    at = BlockNumber(number)
    position = IndexPosition(at, hash_of, moment, at, moment, at, 0, 0, 0, 0)
    chain_id, hub = ChainId(ledger.node.chain_id), Address(ledger.contract.address)
    status = DeploymentStatus(IndexState.BEHIND, chain_id, hub, "1", position, totals=None, announced=None)
    return lambda _request: as_json(to_json(status))


@pytest.mark.parametrize("behind", [True, False])
def test_index_that_is_behind_is_not_accused(
    ledger: Ledger, api: ApiTwin, guardian: Terminal, won: Submitted, *, behind: bool
) -> None:
    load(api, won)
    ledger.node.mine(5)
    newest = ledger.node.w3.eth.block_number
    api.scripts["index"] = status_at(ledger, newest - 4 if behind else newest)

    def open_still(detail: dict[str, object]) -> object:
        facts = detail["facts"]
        assert isinstance(facts, dict)
        return detail | {"facts": facts | {"outcome": None, "winner": None, "status": "open"}}

    api.lies["detail"] = open_still
    ran = guardian.run("guardian:deliver-key", *won.names, code=1)
    ended = ("failed", "index_behind") if behind else ("refused", "read_model_mismatch")
    assert (ran.last["event"], ran.last["code"]) == (f"guardian_deliver_key.{ended[0]}", ended[1])
    assert not api.approvals()
    del api.lies["detail"]
    assert guardian.run("guardian:deliver-key", *won.names).last["event"] == "guardian_deliver_key.stored"


@pytest.mark.usefixtures("work")
def test_bounty_that_is_not_indexed_says_why(
    ledger: Ledger, api: ApiTwin, solver: Terminal, bounty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(state, "_POLL_SECONDS", 0.01)
    api.scripts["detail"] = lambda _: refusal(404, "bounty_not_found", "Not indexed yet.")
    assert submit(solver, bounty, code=1).last["code"] == "not_finalized"
    api.scripts["index"] = status_at(ledger, 1)
    ran = submit(solver, bounty, code=1)
    assert (ran.last["event"], ran.last["code"]) == ("submit.failed", "index_behind")
