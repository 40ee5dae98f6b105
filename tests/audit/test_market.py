"""The parts of ``./noxw -s market`` that need no stack: what is drawn and logged, how an endpoint lies, what an
operator does.
"""

import json
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bounty_protocol.chain.rpc import Rpc
from local_stack import anvil
from local_stack.contract import Wallet
from service_audit.look import Auditor
from service_audit.report import Report

from tools.market import insider
from tools.market.__main__ import Patience, table
from tools.market.deeds import DEEDS, Deed
from tools.market.drawn import (
    LIES,
    DeedKind,
    DeedPlan,
    FaultKind,
    GuardianTemper,
    PosterTemper,
    SolverTemper,
    draw,
)
from tools.market.endpoints import ServiceEndpoints
from tools.market.faults import pick
from tools.market.insider import Insider
from tools.market.log import RunLog
from tools.market.people import Town
from tools.market.reach import InsiderReach, NotDone

MINUTES = 600.0
LOGS = bytes.fromhex("60406000a000")
"""The code of a creation that logs 64 bytes and ends."""


def test_plan__of_a_seed__is_the_same_again_and_another_for_another() -> None:
    assert draw(3, MINUTES) == draw(3, MINUTES)
    assert draw(3, MINUTES) != draw(4, MINUTES)


def test_plan__of_a_shorter_run__is_how_the_longer_one_begins() -> None:
    short, long = draw(3, 60.0), draw(3, MINUTES)
    assert short.bounties == long.bounties[: len(short.bounties)]
    assert short.of_the_chain == long.of_the_chain[: len(short.of_the_chain)]


def test_plan__of_ten_minutes__has_a_hundred_bounties_and_every_behaviour() -> None:
    plan = draw(1, MINUTES)
    assert len(plan.bounties) >= 100
    assert {each.temper for each in plan.bounties} == set(PosterTemper)
    assert {each.temper for bounty in plan.bounties for each in bounty.solvers} == set(SolverTemper)
    assert {each.temper for bounty in plan.bounties for each in bounty.guardians} == set(GuardianTemper)
    faults = (*plan.of_the_chain, *plan.of_processes)
    assert {each.kind for each in faults} == set(FaultKind)
    assert {each.lie for each in faults} == set(LIES)


def test_plan__of_some_kinds_of_fault__has_these_alone() -> None:
    plan = draw(1, MINUTES, kinds=[FaultKind.CLOCK])
    assert {each.kind for each in plan.of_processes} == {FaultKind.CLOCK}
    assert plan.of_the_chain == ()
    assert plan.bounties == draw(1, MINUTES).bounties


def test_choice__by_a_share__reaches_the_first_and_the_last() -> None:
    assert [pick("abc", share) for share in (0.0, 0.34, 0.99, 1.0)] == ["a", "b", "c", "c"]


def test_log__with_a_difference__has_it_as_a_line_and_in_the_table(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "run.jsonl")
    log.write("act", "ok", act="claim")
    log.came_by("mcp", "claim")
    for _ in range(2):
        log.differs("an answer of 500", path="/api/status")
    lines = [json.loads(line) for line in log.path.read_text().splitlines()]
    assert [(line["event"], line["result"]) for line in lines] == [
        ("act", "ok"),
        ("difference", "an answer of 500"),
        ("difference", "an answer of 500"),
    ]
    assert table(log).splitlines() == [
        "      1  act.ok",
        "      1  by mcp: claim",
        "DIFFERS 2 times: an answer of 500 path=/api/status",
    ]


def test_endpoint__that_lies__says_something_else_until_it_is_honest_again() -> None:
    with ExitStack() as until:
        node, sender = until.enter_context(anvil.start()), Wallet()
        node.fund(sender.address)
        sender.send(node.w3, LOGS)
        node.mine(40)
        made = ServiceEndpoints(until)
        first, second, _ = (Rpc([url], own=True, max_answer_bytes=1 << 20) for url in made.before(node.url))

        def said(rpc: Rpc) -> list[object]:
            return [
                *(rpc.call("eth_getBlockByNumber", tag, False) for tag in ("latest", "finalized")),
                rpc.call("eth_getLogs", {"fromBlock": "0x0"}),
            ]

        honest = said(second)
        for lie in LIES:
            made.lie(made.made[0], lie)
            assert said(first) != honest, lie
            assert said(second) == honest
            made.honest()
            assert said(first) == honest


def test_deeds__of_ten_minutes__are_all_there_are_and_a_shorter_run_has_the_first_of_them() -> None:
    plan = draw(1, MINUTES)
    assert {each.kind for each in plan.of_the_insider} == set(DeedKind) == set(DEEDS)
    short = draw(1, 60.0).of_the_insider
    assert short == plan.of_the_insider[: len(short)]
    assert draw(1, MINUTES, deeds=[]).of_the_insider == ()
    assert {each.kind for each in draw(1, 60.0, deeds=[DeedKind.JOB]).of_the_insider} == {DeedKind.JOB}


class Untouched:
    """A stack of which nothing is there."""

    def __init__(self) -> None:
        self.runtime = self.family = self

    def checkpoint(self) -> None:
        """Nobody interrupts."""


def town_of(log: RunLog, stack: object = None) -> Town:
    return Town(cast("Any", stack or Untouched()), log, {}, cast("Any", None))


def insider_of(town: Town, folder: Path, monkeypatch: pytest.MonkeyPatch, deed: Deed) -> Insider:
    monkeypatch.setattr(insider, "STEP_SECONDS", 0.0)
    monkeypatch.setitem(DEEDS, DeedKind.TERMS, lambda _reach, _choice: deed)
    return Insider(InsiderReach(town, folder), [DeedPlan(0.0, DeedKind.TERMS, 0.5)], 60.0)


@pytest.mark.parametrize("found", [True, False])
def test_deed__found_or_not__is_put_right_and_one_that_nobody_names_is_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: bool
) -> None:
    log, done = RunLog(tmp_path / "run.jsonl"), list[str]()
    deed = Deed("a row", lambda: done.append("done"), {"somebody": lambda: found}, lambda: done.append("right"))
    insider_of(town_of(log), tmp_path, monkeypatch, deed).run()
    assert done == ["done", "right"]
    assert len(log.differences) == (0 if found else 1)
    assert all("was not found by somebody" in each for each in log.differences)


@pytest.mark.parametrize(
    ("found", "seen"),
    [
        ([("graphql.rows", "/subgraph"), ("read", "the chain")], True),
        ([("status.totals", "/api/status")], False),
        ([("read", "the chain")], NotDone),
    ],
)
def test_audit__that_did_not_read_all__says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: list[tuple[str, str]], seen: bool | type[Exception]
) -> None:
    def look(auditor: Auditor) -> Report:
        assert auditor.differing == {7}
        report = Report()
        for requirement, where in found:
            report.add(requirement, where, "an answer", "another")
        return report

    monkeypatch.setattr(Auditor, "look_at_news", look)
    hub = SimpleNamespace(hub=SimpleNamespace(address=""))
    stack = SimpleNamespace(anvil=SimpleNamespace(url=""), hub=hub, api_base_url="")
    reach = InsiderReach(town_of(RunLog(tmp_path / "run.jsonl"), stack), tmp_path)
    if seen is NotDone:
        with pytest.raises(NotDone):
            reach.checked("graphql.rows", 7)
    else:
        assert reach.checked("graphql.rows", 7) is seen


def test_patience__with_lives_after_the_run__lasts_while_one_ends_now_and_then() -> None:
    patience = Patience(3_600.0)
    asked = [(100.0, 7), (3_899.0, 8), (4_190.0, 8), (4_195.0, 9), (4_490.0, 9), (4_496.0, 9)]
    assert [patience.is_over(now, ended) for now, ended in asked] == [False] * 5 + [True]


def test_deed__that_breaks__is_a_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = RunLog(tmp_path / "run.jsonl")

    def broken() -> None:
        raise OSError("no such table")

    deed = Deed("a row", lambda: None, {}, broken)
    insider_of(town_of(log), tmp_path, monkeypatch, deed).run()
    assert [each.partition(" why")[0] for each in log.differences] == ["an insider's deed was not put right"]
