"""The parts of ``./noxw -s market`` that need no stack: what is drawn and logged, how an endpoint
lies."""

import json
from contextlib import ExitStack
from pathlib import Path

from bounty_protocol.chain.rpc import Rpc
from local_stack import anvil
from local_stack.contract import Wallet

from tools.market.__main__ import Patience, table
from tools.market.drawn import (
    LIES,
    FaultKind,
    GuardianTemper,
    PosterTemper,
    SolverTemper,
    draw,
)
from tools.market.endpoints import ServiceEndpoints
from tools.market.faults import pick
from tools.market.log import RunLog

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
    log.came_by("library", "claim")
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
        "      1  by library: claim",
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


def test_patience__with_lives_after_the_run__lasts_while_one_ends_now_and_then() -> None:
    patience = Patience(3_600.0)
    asked = [(100.0, 7), (3_899.0, 8), (4_190.0, 8), (4_195.0, 9), (4_490.0, 9), (4_496.0, 9)]
    assert [patience.is_over(now, ended) for now, ended in asked] == [False] * 5 + [True]
