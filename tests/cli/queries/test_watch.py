"""``bounty:watch``: a bounty followed to its end through reorgs and silences, and what happens at the end."""

from collections.abc import Callable, Iterator

import pytest
from service_cli.queries import watch as watching

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.servers import Lost, Params, RpcProxy
from tests.cli.terminal import Terminal


class Clock:
    """A clock whose pauses play the next step of a story."""

    def __init__(self, *steps: Callable[[], object], seconds: float = 2.0) -> None:
        self._steps: Iterator[Callable[[], object]] = iter(steps)
        self._now, self._seconds = 0.0, seconds

    def monotonic(self) -> float:
        return self._now

    def sleep(self, _seconds: float) -> None:
        self._now += self._seconds
        next(self._steps)()


def test_watch_says_each_step_as_it_comes(ledger: Ledger, poster: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    bounty, _ = ledger.fund(seconds=100, judging=60)
    clock = Clock(
        lambda: ledger.submit(bounty, ledger.people.solvers[0].wallet),
        lambda: ledger.advance_to(ledger.time() + 100),
        lambda: ledger.advance_to(ledger.time() + 60),
        lambda: ledger.advance_to(ledger.time() + 60),
        lambda: ledger.contract.transact(ledger.people.owner.wallet, "settle", bounty),
        lambda: ledger.node.mine(3),
    )
    monkeypatch.setattr(watching, "time", clock)
    ran = poster.run("bounty:watch", str(bounty))
    told = [event["step"] for event in ran.events if event["event"] == "bounty_watch.next"]
    assert told == ["submissions", "reveal", "judging", "settlement", "finality"]
    assert (ran.last["outcome"], ran.last["settlement_reason"]) == ("no_valid_submission", "guardians_silent")


def stop() -> None:
    raise KeyboardInterrupt


def test_watch_takes_back_what_a_reorg_took(ledger: Ledger, poster: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    bounty, _ = ledger.fund(seconds=500)
    ledger.node.mine(3)
    solver = ledger.people.solvers[0].wallet
    again = Clock(
        lambda: ledger.submit(bounty, solver),
        lambda: ledger.node.rpc.call("anvil_reorg", 1, []),
        lambda: ledger.submit(bounty, solver),
        stop,
    )
    monkeypatch.setattr(watching, "time", again)
    ran = poster.run("bounty:watch", str(bounty), code=130)
    told = [str(event["event"]).partition(".")[2] for event in ran.events if "next" not in str(event["event"])]
    assert told == ["event", "event", "event_removed", "event"]
    submitted = [event for event in ran.events if event.get("name") == "SubmissionRecorded"]
    (removed,) = [event for event in ran.events if event["event"] == "bounty_watch.event_removed"]
    assert removed["tx_hash"] == submitted[0]["tx_hash"] != submitted[1]["tx_hash"]


def test_watch_goes_on_after_silence(
    ledger: Ledger, poster: Terminal, rpc: RpcProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounty, _ = ledger.fund(seconds=500)

    def lose(_method: str, _params: Params) -> None:
        raise Lost

    monkeypatch.setattr(watching, "time", Clock(lambda: setattr(rpc, "before", lose), rpc.honest, lambda: None, stop))
    ran = poster.run("bounty:watch", str(bounty), code=130)
    assert ran.names == ["bounty_watch.event", "bounty_watch.next"]
    assert ran.words.count("Retrying") == 1


def change(number: int, name: str, *, is_final: bool = True) -> dict[str, object]:
    event: dict[str, object] = {
        "name": name,
        "bounty_id": "7",
        "fields": {"bounty_id": "7"},
        "block_number": number,
        "block_hash": "0x" + f"{number:064x}",
        "log_index": 0,
        "tx_hash": "0x" + "11" * 32,
        "time": number,
        "finality": "finalized" if is_final else "unsafe",
    }
    return {"number": number, "kind": "event", "event": event, "last_block_number": None}


def test_watch_of_all__prints_each_final_event_once(
    api: ApiTwin, poster: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    retraction = {"number": 2, "kind": "retraction", "event": None, "last_block_number": 1}
    first, late = change(1, "BountyCreated"), change(4, "BountyFinalized")
    api.changes = [first, retraction, change(3, "SubmissionRecorded", is_final=False), late]
    clock = Clock(
        lambda: api.changes.__setitem__(2, change(3, "SubmissionRecorded")),
        stop,
    )
    monkeypatch.setattr(watching, "time", clock)
    ran = poster.run("bounty:watch", code=130)
    assert {event["event"] for event in ran.events} == {"bounty_watch.change"}
    assert [event["name"] for event in ran.events] == ["BountyCreated", "SubmissionRecorded", "BountyFinalized"]
    assert ran.events[1]["number"] == 3
