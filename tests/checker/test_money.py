"""A balance that the node does not give is counted, and the newest has to be there."""

import json
from collections.abc import Callable, Mapping

import eth_abi
from service_checker.asking import HttpReply, Node
from service_checker.chain import Chain, ChainBlock
from service_checker.money import check_money
from service_checker.report import CheckReport

from tests.checker.logs import HUB, Written


def checked(gives: Callable[[int], bool]) -> CheckReport:
    """The findings of one bounty where the node gives the balances of some blocks; transfers are left out."""
    history = Written().deployed().created()
    head = history.logs[-1].place.block_number

    def exchange(_method: str, _url: str, body: bytes | None, _headers: Mapping[str, str]) -> HttpReply:
        asked = json.loads(body or b"{}")
        if asked["method"] == "eth_getLogs":
            return HttpReply(200, {}, b'{"result": []}')
        if not gives(int(asked["params"][1], 16)):
            return HttpReply(200, {}, b'{"error": {"message": "missing trie node"}}')
        held = eth_abi.abi.encode(["uint256"], [0]).hex()
        return HttpReply(200, {}, json.dumps({"result": "0x" + held}).encode())

    block = ChainBlock(head, "0x" + "ab" * 32, history.logs[-1].place.time)
    chain = Chain(Node("http://node", exchange), HUB, logs=history.logs, head=block, finalized=block)
    findings = CheckReport()
    check_money(chain, history.replay(), findings, every_block=True)
    return findings


def balances(findings: CheckReport) -> list[str]:
    return [each.where for each in findings.found if each.requirement != "money.transfers"]


def test_balances__that_the_node_refuses__are_counted_and_not_taken_as_right() -> None:
    findings = checked(lambda _: False)
    assert balances(findings) == ["the Hub's balance"]
    assert findings.unread
    assert "money.conservation  3 not compared" in "\n".join(findings.lines())
    report = json.loads(findings.as_json())
    assert report["not_compared"] == {"money.conservation": 3}
    assert "3 of 3 balances were not given" in str(report["differences"])


def test_balance__of_the_newest_block_alone__has_to_be_given() -> None:
    assert balances(checked(lambda number: number < 3)) == ["the Hub's balance"]
    findings = checked(lambda number: number == 3)
    assert balances(findings) == []
    assert not findings.unread
    assert json.loads(findings.as_json())["not_compared"] == {"money.conservation": 2}
