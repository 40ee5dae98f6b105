"""Reads that do not depend on one another are requested together, and of an endpoint that takes no batch one by one."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from bounty_protocol.chain.endpoints import Endpoint
from bounty_protocol.chain.rpc import Call, ChainUnavailable
from service_cli.chain.prefetch import PrefetchingRpc

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.ledger import Ledger
from tests.cli.servers import Lost, Params, Reply, Request, RpcProxy, Server, as_json
from tests.cli.terminal import Terminal

CHAIN: Call = ("eth_chainId", [])
NEWEST: Call = ("eth_blockNumber", [])
PRICE: Call = ("eth_gasPrice", [])


def rounds(rpc: RpcProxy, act: Callable[[], object]) -> int:
    """Requests one after the other until the first signed transaction leaves, with the one that has it."""
    began, found = len(rpc.server.requests), list[int]()

    def note(method: str, _params: Params) -> None:
        if method == "eth_sendRawTransaction":
            found.append(len(rpc.server.requests) - began)

    rpc.before = note
    act()
    rpc.honest()
    return found[0]


def test_sign_of_life__is_sent_by_the_third_request(rpc: RpcProxy, guardian: Terminal) -> None:
    """The deployment; everything that a transaction is simulated, priced and signed with; the transaction."""
    assert rounds(rpc, lambda: guardian.run("guardian:heartbeat")) == 3


def test_claim_is_sent_by_the_sixth_request(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path, won_alone: int
) -> None:
    """Besides: the bounty and the final block, the bounty in that block, and the simulation of what is shown."""
    winner = person(ledger, api, rpc, tmp_path / "winner", "solver-2")
    assert rounds(rpc, lambda: winner.run("claim", str(won_alone))) == 6


def test_submission__is_sent_by_the_twenty_second_request(rpc: RpcProxy, solver: Terminal, bounty: str) -> None:
    (solver.home / "work").mkdir()
    (solver.home / "work" / "main.py").write_text("print(1)\n")
    # Each signed request reads two blocks, and a third if the chain's pace is not Base's.
    assert rounds(rpc, lambda: solver.run("solver:submit", bounty, "work")) in {20, 21, 22}


def test_bounty_is_created_by_the_nineteenth_request(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal
) -> None:
    (poster.home / "page.md").write_bytes(ledger.page())
    assert rounds(rpc, lambda: poster.run("poster:publish-fund", "page.md")) in {17, 18, 19}


@pytest.fixture
def won_alone(ledger: Ledger) -> int:
    """An awarded bounty that nobody else claims."""
    return ledger.awarded(ledger.people.solvers[1].wallet)


def refused(status: int, body: object) -> Callable[[int], Reply | None]:
    return lambda calls: as_json(body, status) if calls > 1 else None


def broken(calls: int) -> Reply | None:
    if calls > 1:
        raise Lost
    return None


def up_to(most: int) -> Callable[[int], Reply | None]:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": f"at most {most} calls"}}
    return lambda calls: as_json(error) if calls > most else None


WITHOUT_BATCHES: dict[str, Callable[[int], Reply | None]] = {
    "a page": refused(400, "bad request"),
    "an error in place of the answers": up_to(1),
    "too large": refused(413, {"error": "too large"}),
    "too often": refused(429, {"error": "rate limit"}),
    "nothing": broken,
    "three at most": up_to(3),
}


@pytest.mark.parametrize("refuse", WITHOUT_BATCHES.values(), ids=WITHOUT_BATCHES)
def test_endpoint__that_does_not_take_such_batches__is_read_call_by_call(
    rpc: RpcProxy, guardian: Terminal, refuse: Callable[[int], Reply | None]
) -> None:
    rpc.refuse = refuse
    assert guardian.run("guardian:heartbeat").last["event"] == "guardian_heartbeat.recorded"
    assert rpc.sent() == 1


def test_commands__over_an_endpoint_without_batches__fund_submit_and_claim_everything(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, solver: Terminal, bounty: str, won_alone: int,
    tmp_path: Path,
) -> None:  # fmt: skip
    rpc.refuse = refused(400, "bad request")
    (poster.home / "page.md").write_bytes(ledger.page())
    assert poster.run("poster:publish-fund", "page.md").last["event"] == "publish_fund.bounty_created"
    (solver.home / "work").mkdir()
    (solver.home / "work" / "main.py").write_text("print(1)\n")
    assert solver.run("solver:submit", bounty, "work").last["event"] == "submit.submission_recorded"
    winner = person(ledger, api, rpc, tmp_path / "winner", "solver-2")
    assert str(won_alone) in {event.get("bounty_id") for event in winner.run("claim", "--all").events}


def test_endpoint__that_refuses_the_calls_of_a_batch_one_by_one__is_asked_for_each_alone(
    rpc: RpcProxy, guardian: Terminal
) -> None:
    def alter(request: Request, reply: Reply) -> Reply:
        asked = json.loads(request.body)
        if not isinstance(asked, list):
            return reply
        error = {"code": -32005, "message": "no batches in this plan"}
        return as_json([{"jsonrpc": "2.0", "id": each["id"], "error": error} for each in asked])

    rpc.server.alter = alter
    assert guardian.run("guardian:heartbeat").last["event"] == "guardian_heartbeat.recorded"


@contextmanager
def counting() -> Iterator[tuple[PrefetchingRpc, list[list[str]]]]:
    """An endpoint that answers each call with its own number, and the methods of each request."""
    seen = list[list[str]]()

    def answer(request: Request) -> Reply:
        asked = json.loads(request.body)
        calls = asked if isinstance(asked, list) else [asked]
        seen.append([str(each["method"]) for each in calls])
        if len(calls) > 3:
            return as_json({"error": "at most three"}, 400)
        found = [{"jsonrpc": "2.0", "id": each["id"], "result": hex(len(seen))} for each in calls]
        return as_json(found if isinstance(asked, list) else found[0])

    server = Server(answer)
    yield PrefetchingRpc(server.url), seen
    server.close()


def test_prefetched__answer__is_used_once_and_not_after_its_block() -> None:
    with counting() as (rpc, seen):
        with rpc.prefetched([CHAIN, NEWEST]):
            assert [rpc.call(*each[:1]) for each in (CHAIN, CHAIN)] == ["0x1", "0x2"]
        assert rpc.call("eth_blockNumber") == "0x3"
    assert seen == [["eth_chainId", "eth_blockNumber"], ["eth_chainId"], ["eth_blockNumber"]]


def test_prefetched__within_another_block__requests_what_is_missing_and_keeps_the_rest() -> None:
    with counting() as (rpc, seen), rpc.prefetched([CHAIN, NEWEST]):
        with rpc.prefetched([CHAIN, PRICE]):
            assert rpc.call("eth_chainId") == "0x1"
        assert rpc.call("eth_blockNumber") == "0x1"
        assert rpc.call("eth_chainId") == "0x2"
    assert seen == [["eth_chainId", "eth_blockNumber"], ["eth_chainId"]]


def test_batch__that_is_too_long__is_halved_from_then_on() -> None:
    four: list[Call] = [CHAIN, NEWEST, PRICE, ("eth_syncing", [])]
    with counting() as (rpc, seen):
        assert len(rpc.batch(four)) == len(rpc.batch(four)) == 4
    assert [len(each) for each in seen] == [4, 1, 2, 1, 2, 2]


def test_endpoint__that_is_not_reached__fails_at_the_first_step() -> None:
    rpc = PrefetchingRpc("http://127.0.0.1:9")
    with rpc.prefetched([CHAIN, NEWEST]), pytest.raises(ChainUnavailable):
        rpc.call("eth_chainId")


def test_endpoint__that_answers_no_batch_in_time__is_waited_for_once_and_read_call_by_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, five = list[int](), [CHAIN, NEWEST, PRICE, ("eth_syncing", []), ("net_version", [])]

    def slow(_endpoint: Endpoint, calls: Sequence[Call]) -> list[object]:
        asked.append(len(calls))
        if len(calls) > 1:
            raise ChainUnavailable("nothing came in time", silent=True)
        return ["0x1"]

    rpc = PrefetchingRpc("http://127.0.0.1:9")
    monkeypatch.setattr(rpc, "ask", slow)
    for _ in range(2):
        with rpc.prefetched(five):
            assert [rpc.call(method, *params) for method, params in five] == ["0x1"] * 5
    assert asked == [5, *[1] * 10]
