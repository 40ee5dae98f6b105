"""What a watch keeps, and that its samples leave nothing out."""

import json
import random
from collections.abc import Mapping
from math import ceil

import pytest
from service_checker.asking import HttpReply, Node, Unread
from service_checker.chain import Chain
from service_checker.memory import LISTS, CheckMemory
from service_checker.report import CheckReport
from service_checker.run import CheckOptions, _AnswerParts, check, of_the_answers

from tests.checker.logs import HUB

TOKEN = "0x" + "ab" * 20


def memory(seed: int = 7) -> CheckMemory:
    return CheckMemory(turn=random.Random(seed))


@pytest.mark.parametrize(("count", "size"), [(10, 3), (3, 20), (20, 20), (1, 1)])
def test_samples__have_every_bounty_before_one_comes_again(count: int, size: int) -> None:
    kept, every = memory(), set(range(1, count + 1))
    samples = [kept.sample(every, size).bounties for _ in range(ceil(count / size))]
    assert {len(sample) for sample in samples} == {min(size, count)}
    assert set[int]().union(*samples) == every
    assert kept.sample(set(), size).bounties == frozenset()


def test_head__that_cannot_be_read_after_the_answers__costs_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def malformed(*_: object) -> None:
        raise KeyError("timestamp")

    monkeypatch.setattr("service_checker.run._AnswerParts", malformed)
    asked = CheckOptions(rpc_url="http://127.0.0.1:1", hub=HUB, api_url="http://127.0.0.1:1")
    findings = CheckReport()
    findings.add("money.split", "bounty 7", 1, 2)
    of_the_answers(asked, "http://127.0.0.1:1", Chain(Node(asked.rpc_url, asked.exchange), HUB), findings)
    assert [(each.requirement, each.where) for each in findings.found] == [
        ("money.split", "bounty 7"), ("checked", "the answers"), ("checked", "the chain"),
    ]  # fmt: skip


def test_mistake_of_the_checker__hides_no_finding_and_forgets_no_bounty(monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(self: _AnswerParts) -> None:
        self.reading.findings.add("bounty.facts", "/api/bounties/7", 1, 2)
        self.differing.add(7)
        raise RuntimeError("a mistake")

    monkeypatch.setattr(_AnswerParts, "run", mistaken)
    asked = CheckOptions(rpc_url="http://127.0.0.1:1", hub=HUB, api_url="http://127.0.0.1:1")
    findings = CheckReport()
    of_the_answers(asked, "http://127.0.0.1:1", Chain(Node(asked.rpc_url, asked.exchange), HUB), findings)
    assert [(each.requirement, each.where) for each in findings.found] == [
        ("bounty.facts", "/api/bounties/7"), ("checked", "the answers"), ("checked", "the chain"),
    ]  # fmt: skip
    assert asked.memory.differing == {7}


def test_samples__have_each_list_in_turn() -> None:
    kept = memory()
    for _ in range(4):
        assert set[str]().union(*(kept.sample({1}, 1).lists for _ in LISTS)) == set(LISTS)


def test_sample__has_what_differed_in_the_last_check() -> None:
    kept = memory()
    kept.differing, kept.differing_lists = {7, 99}, {LISTS[2]}
    for _ in range(20):
        sample = kept.sample(range(1, 50), 2)
        assert 7 in sample.bounties
        assert 99 not in sample.bounties, "a reorg took it"
        assert LISTS[2] in sample.lists


class Blocks:
    """A node with a chain of blocks and no log, which notes what it is asked."""

    def __init__(self) -> None:
        self.head, self.fork = 100, 0
        self.asked = list[tuple[str, int, int]]()

    def __call__(self, _method: str, _url: str, body: bytes | None, _headers: Mapping[str, str]) -> HttpReply:
        found = json.loads(body or b"{}")
        params = found["params"]
        if found["method"] == "eth_chainId":
            return HttpReply(200, {}, b'{"result": "0x1"}')
        if found["method"] == "eth_getLogs":
            self.asked.append((params[0]["address"], int(params[0]["fromBlock"], 16), int(params[0]["toBlock"], 16)))
            return HttpReply(200, {}, b'{"result": []}')
        tags = {"latest": self.head, "finalized": self.head - 10}
        number = tags[params[0]] if params[0] in tags else int(params[0], 16)
        block = {"number": hex(number), "hash": f"0x{self.fork:02x}{number:062x}", "timestamp": hex(number)}
        return HttpReply(200, {}, json.dumps({"result": block}).encode())


def test_chain__that_is_kept__is_asked_for_what_is_new_alone() -> None:
    node = Blocks()
    chain = Chain(Node("http://node", node), HUB)
    chain.refresh()
    chain.transfers(TOKEN, chain.finalized.number)
    node.head, node.asked = 120, []
    chain.refresh()
    chain.transfers(TOKEN, chain.finalized.number)
    assert node.asked == [(HUB, 91, 120), (TOKEN, 91, 110), (TOKEN, 91, 110)]
    chain.refresh()
    node.asked = []
    chain.transfers(TOKEN, chain.finalized.number)
    assert node.asked == [], "the same finalized block"


def test_chain__whose_finalized_block_is_another_one__is_not_believed() -> None:
    node = Blocks()
    chain = Chain(Node("http://node", node), HUB)
    chain.refresh()
    node.fork = 1
    with pytest.raises(Unread, match="finalized block 90 is another one now"):
        chain.refresh()


def test_check__after_one_with_a_difference__reads_the_chain_again() -> None:
    node = Blocks()
    asked = CheckOptions("http://node", HUB, sample=1, exchange=node, memory=memory())
    asked.memory.balances[5] = True
    findings = check(asked)
    assert "no Hub was deployed here" in str(findings.found)
    assert (asked.memory.chain, asked.memory.balances) == (None, {})


def test_check__that_takes_too_long__asks_for_nothing_more() -> None:
    findings = check(CheckOptions("http://node", HUB, max_seconds=0, exchange=Blocks()))
    assert (findings.exit_code(), findings.found[0].seen) == (2, "not asked: this check has taken 0 seconds")


def test_difference__of_a_requirement_with_more_than_are_listed__is_not_over() -> None:
    first, second = CheckReport(), CheckReport()
    first.add("bounty.facts", "a", 1, 2)
    second.more["bounty.facts"] = 1
    assert second.leaves_open(first.found[0])
    assert not CheckReport().leaves_open(first.found[0])
