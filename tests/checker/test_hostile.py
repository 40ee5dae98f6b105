"""A node whose answers are malformed ends no check, hides no finding, and is no difference of the deployment."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain, repeat
from typing import Final

import pytest
from bounty_protocol.domain import halts
from service_checker.asking import HttpReply
from service_checker.chain import STANDS_STILL_SECONDS
from service_checker.rest import MAX_SURPLUS
from service_checker.run import CheckOptions, check

from tests.checker.logs import CHAIN, HUB, Written
from tests.checker.node import NODE, HandMadeNode, Raw

API: Final = "http://api"
HISTORY: Final = Written().deployed().created().submitted().judged(0).judged(1, tx_hash="0x" + "a" * 64)
HISTORY.ended(tx_hash="0x" + "a" * 64)
METHODS: Final = ("eth_chainId", "eth_getBlockByNumber", "eth_getLogs", "eth_call")
NONSENSE: Final = {
    "nothing": b"",
    "null": b'{"result": null}',
    "number": b'{"result": 7}',
    "not-a-number": b'{"result": NaN}',
    "negative": b'{"result": "-0x5"}',
    "huge": b'{"result": "0x' + b"f" * 100_001 + b'"}',
    "huge-integer": b'{"result": ' + b"9" * 4_000 + b"}",
    "text": b'{"result": "0xzz"}',
    "object": b'{"result": {}}',
    "of-numbers": b'{"result": [1, 2]}',
    "of-objects": b'{"result": [{}]}',
    "of-null": b'{"result": {"number": null, "hash": null, "timestamp": null}}',
    "infinite": b'{"result": {"number": "0x1", "hash": "0x2", "timestamp": Infinity}}',
    "deep": b'{"result": ' + b"[" * 900 + b"]" * 900 + b"}",
    "deep-error": b'{"error": ' + b"[" * 900 + b"]" * 900 + b"}",
    "deeper": b"[" * 200_000,
    "error": b'{"error": {"message": "a-key-of-mine is busy"}}',
    "both": b'{"result": "0x1", "error": {}}',
    "twice": b'{"result": "0x1", "result": "0x1"}',
}


def from_the(begin: int, method: str, instead: bytes) -> Raw:
    """The answers to a method are something else from a request on."""
    return lambda number, asked, answer: instead if number >= begin and asked == method else answer


def no_api(path: str) -> HttpReply:
    """An API without a header of the index, and a status alone."""
    return HttpReply(200 if path == "/api/deployment" else 404, {}, b"{}")


def options(node: HandMadeNode) -> CheckOptions:
    """A check of this node and of an API that is wrong everywhere."""

    def exchange(method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> HttpReply:
        return node(method, url, body, headers) if url == NODE else no_api(url.removeprefix(API))

    return CheckOptions(NODE, HUB, API, exchange=exchange)


def test_node__made_by_hand__has_no_difference() -> None:
    node = HandMadeNode(HISTORY)
    assert check(CheckOptions(NODE, HUB, exchange=node)).found == []
    assert set(node.asked) == set(METHODS)


@pytest.mark.attack
@pytest.mark.parametrize("nonsense", NONSENSE.values(), ids=NONSENSE)
@pytest.mark.parametrize("method", METHODS)
def test_answer__that_is_nonsense__is_not_taken_for_a_difference(method: str, nonsense: bytes) -> None:
    whole = HandMadeNode(HISTORY)
    check(CheckOptions(NODE, HUB, exchange=whole))
    places = [number for number, asked in enumerate(whole.asked, 1) if asked == method]
    for begin in {places[0], places[len(places) // 2], places[-1]}:
        findings = check(CheckOptions(NODE, HUB, exchange=HandMadeNode(HISTORY, from_the(begin, method, nonsense))))
        assert {found.requirement for found in findings.found} == {"checked"}, findings.found
        assert "the check" not in {found.where for found in findings.found}, findings.found
        assert "a-key-of-mine" not in findings.as_json()


@pytest.mark.attack
@pytest.mark.parametrize("method", METHODS)
def test_node__that_is_lost_meanwhile__ends_no_part_of_the_answers(method: str) -> None:
    sound = HandMadeNode(HISTORY)
    expected = check(options(sound))
    of_the_chain = HandMadeNode(HISTORY)
    check(CheckOptions(NODE, HUB, exchange=of_the_chain))
    begin = len(of_the_chain.asked) + 1
    assert begin <= len(sound.asked), "the answers need the node, too"
    findings = check(options(HandMadeNode(HISTORY, from_the(begin, method, NONSENSE["of-null"]))))
    lost = {found.where for found in findings.found if found.requirement == "checked"}
    named = {found.where.split()[0] for found in findings.found}
    assert {found.where.split()[0] for found in expected.found} <= named, (
        "each part is there, by what differs or as not asked"
    )
    assert "the answers" not in lost


def of_a_real_chain(node: HandMadeNode, later: Iterable[int], monkeypatch: pytest.MonkeyPatch) -> CheckOptions:
    """A check whose clock says so many seconds after the newest block, at each look; the API is ahead of that block."""
    monkeypatch.setattr("service_checker.chain.LOCAL_CHAIN_ID", CHAIN + 1)
    ahead = {"x-index-block": "999", "x-index-time": "1", "x-hub": f"eip155:{CHAIN}:{HUB}"}

    def exchange(method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> HttpReply:
        return node(method, url, body, headers) if url == NODE else HttpReply(200, ahead, b"{}")

    newest, seconds = HISTORY.logs[-1].place.time, iter(later)
    return replace(options(node), exchange=exchange, now=lambda: newest + next(seconds))


def test_node__that_stands_still__is_reported_and_nothing_is_held_against_the_api(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert STANDS_STILL_SECONDS == halts.STANDS_STILL_SECONDS
    findings = check(of_a_real_chain(HandMadeNode(HISTORY), repeat(7 * 60), monkeypatch))
    (found,) = findings.found
    assert (found.requirement, found.where) == ("checked", "the newest block")
    assert found.seen.startswith("one of 7 minutes ago")


def test_node__that_stands_still_meanwhile__makes_no_later_block_of_the_api_a_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for then, blamed in ((10, True), (7 * 60, False)):
        findings = check(of_a_real_chain(HandMadeNode(HISTORY), chain([10], repeat(then)), monkeypatch))
        assert any("does not have block 999" in found.seen for found in findings.found) == blamed
        assert any("stands still" in found.seen for found in findings.found) != blamed


def test_balance__that_is_not_given__ends_no_other_part() -> None:
    asked = options(HandMadeNode(HISTORY, from_the(1, "eth_call", NONSENSE["error"])))
    findings = check(replace(asked, every_block=True))
    places = {found.where for found in findings.found if found.requirement == "checked"}
    assert {"the Hub's balance", "getBounty(1)", "token()"} <= places
    assert "bounty.facts" in {found.requirement for found in findings.found}


def test_mistake_of_the_checker__after_a_difference__hides_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("what nobody thought of")

    monkeypatch.setattr("service_checker.run.check_views", broken)
    late = Written([*HISTORY.logs]).submitted()
    findings = check(CheckOptions(NODE, HUB, exchange=HandMadeNode(late)))
    assert {("chain.events", True), ("checked", False)} == {
        (found.requirement, "Submission" in found.where) for found in findings.found
    }


def test_mistake_of_the_checker__in_one_part__ends_that_part_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("what nobody thought of")

    monkeypatch.setattr("service_checker.run.check_status", broken)
    findings = check(CheckOptions(NODE, HUB, exchange=HandMadeNode(HISTORY), api_url=API, pages_url=API))
    assert ("checked", "/api/status") in {(found.requirement, found.where) for found in findings.found}
    assert any(found.where == "/api/deployment" for found in findings.found), "it went on"


def test_chain__that_is_another_one_now__is_not_believed() -> None:
    node = HandMadeNode(HISTORY)
    asked = CheckOptions(NODE, HUB, exchange=node, sample=1)
    assert check(asked).found == []
    node.alter = from_the(1, "eth_chainId", json.dumps({"result": hex(CHAIN + 1)}).encode())
    (found,) = check(asked).found
    assert (found.requirement, found.seen) == ("checked", f"the node is of chain {CHAIN + 1} now, and was of {CHAIN}")


@pytest.mark.parametrize(
    ("what", "changed"),
    [
        ("of another contract", lambda logs: [{**logs[0], "address": "0x" + "dd" * 20}, *logs[1:]]),
        ("twice", lambda logs: [*logs, logs[-1]]),
        ("in another order", lambda logs: logs[::-1]),
        ("of another block", lambda logs: [*logs[:-1], {**logs[-1], "blockNumber": "0xffffff"}]),
    ],
)
def test_logs__that_were_not_asked_for__are_not_read(what: str, changed: object) -> None:
    assert callable(changed)

    def alter(_number: int, method: str, answer: bytes) -> bytes:
        found = json.loads(answer)["result"]
        return json.dumps({"result": changed(found)}).encode() if method == "eth_getLogs" else answer

    (found,) = check(CheckOptions(NODE, HUB, exchange=HandMadeNode(HISTORY, alter))).found
    assert (found.requirement, found.where) == ("checked", "the chain"), what
    assert found.seen.startswith("a list of logs cannot be read")


@pytest.mark.parametrize("body", [b'{"a": NaN}', b'{"a": -Infinity}', b'{"a": {"b": 1, "b": 2}}'])
def test_answer__that_readers_take_differently__is_no_json(body: bytes) -> None:
    findings = check(CheckOptions(NODE, HUB, exchange=lambda *_: HttpReply(200, {}, body)))
    (found,) = findings.found
    assert "no JSON" in found.seen


def endless(path: str, count: int, items: int) -> dict[str, object]:
    """A page of a list that has no last one."""
    found: list[dict[str, object]] = [{"bounty_id": "1", "number": count, "kind": "event", "event": {}}] * items
    if path.startswith("/api/changes"):
        return {"items": found, "has_more": True, "next_after": count}
    return {"items": found, "next_cursor": str(count), "total_count": None}


@pytest.mark.attack
@pytest.mark.parametrize(
    ("path", "items", "requirement"),
    [("/api/bounties?", 0, "list.items"), ("/api/bounties?", 1, "list.items"), ("/api/changes?", 0, "changes.log")],
)
def test_list__without_a_last_page__costs_few_requests(path: str, items: int, requirement: str) -> None:
    node, asked = HandMadeNode(HISTORY), list[str]()
    place = HISTORY.logs[-1].place
    named = {"x-index-block": str(place.block_number), "x-index-time": str(place.time)}

    def exchange(method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> HttpReply:
        if url == NODE:
            return node(method, url, body, headers)
        if not url.startswith(API + path):
            return no_api(url.removeprefix(API))
        asked.append(url)
        return HttpReply(200, named, json.dumps(endless(path, len(asked), items)).encode())

    findings = check(CheckOptions(NODE, HUB, API, exchange=exchange))
    assert 0 < len(asked) <= MAX_SURPLUS + 10
    (found,) = [each for each in findings.found if each.where == path.rstrip("?")]
    assert found.requirement == requirement


@pytest.mark.attack
def test_changes__more_than_were_asked_for__are_not_worked_through() -> None:
    node, place = HandMadeNode(HISTORY), HISTORY.logs[-1].place
    named = {"x-index-block": str(place.block_number), "x-index-time": str(place.time)}
    event = {"kind": "event", "event": {"block_number": 1, "log_index": 0}}
    retraction = {"kind": "retraction", "last_block_number": 1}
    items = [{**(event if number < 20_000 else retraction), "number": number + 1} for number in range(40_000)]
    page = json.dumps({"items": items, "has_more": False, "next_after": 40_000}).encode()

    def exchange(method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> HttpReply:
        if url == NODE:
            return node(method, url, body, headers)
        return HttpReply(200, named, page) if "/api/changes" in url else no_api(url.removeprefix(API))

    findings = check(CheckOptions(NODE, HUB, API, exchange=exchange))
    found = [each.seen for each in findings.found if each.requirement.startswith("changes.")]
    assert found == ["ValueError: a page with more changes than were asked for"]


@pytest.mark.parametrize("finalized", [6.0, True, "6"])
def test_finalized_block__that_is_no_integer__differs(finalized: object) -> None:
    node, place = HandMadeNode(HISTORY), HISTORY.logs[-1].place
    position = {"block_number": place.block_number, "block_hash": place.block_hash, "block_time": place.time}
    status = {"position": {**position, "finalized_block_number": finalized}}

    def exchange(method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> HttpReply:
        if url == NODE:
            return node(method, url, body, headers)
        known = url == API + "/api/status"
        return HttpReply(200, {}, json.dumps(status).encode()) if known else no_api(url.removeprefix(API))

    findings = check(CheckOptions(NODE, HUB, API, exchange=exchange))
    places = {each.where for each in findings.found if each.requirement == "status.position"}
    assert places == {"/api/status finalized_block_number"}
