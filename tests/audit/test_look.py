"""A look at a chain and an API whose answers fail, lie or are malformed: what is a difference, and what is none."""

import json
from typing import Any, Final

import pytest
from service_audit.chain import STANDS_STILL_SECONDS
from service_audit.http import HttpReply, Unread
from service_audit.lists import MAX_SURPLUS
from service_audit.look import HICCUP_SECONDS, Auditor
from service_audit.report import Report

from tests.audit.logs import CHAIN, HUB, Written
from tests.audit.looks import API, HISTORY, auditor, with_api
from tests.audit.node import HandMadeNode, Raw
from tests.clocks import HandClock

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
    "of-objects": b'{"result": [{}]}',
    "of-null": b'{"result": {"number": null, "hash": null, "timestamp": null}}',
    "of-short-texts": b'{"result": {"number": "0x1", "hash": "0x12", "timestamp": "0x1"}}',
    "deep": b'{"result": ' + b"[" * 900 + b"]" * 900 + b"}",
    "deeper": b"[" * 200_000,
    "error": b'{"error": {"message": "a-key-of-mine is busy"}}',
    "twice": b'{"result": "0x1", "result": "0x1"}',
}
PLACE: Final = HISTORY.logs[-1].place
NAMED: Final = {
    "x-index-block": str(PLACE.block_number),
    "x-index-time": str(PLACE.time),
    "x-hub": f"eip155:{CHAIN}:{HUB}",
}


def from_the(begin: int, method: str, instead: bytes) -> Raw:
    """The answers to a method are something else from a request on."""
    return lambda number, asked, answer: instead if number >= begin and asked == method else answer


def wheres(report: Report) -> set[tuple[str, str]]:
    return {(found.requirement, found.where) for found in report.found}


def test_node__made_by_hand__has_no_difference() -> None:
    node = HandMadeNode(HISTORY)
    assert auditor(node).look_at_everything().found == []
    assert set(node.asked) == set(METHODS)


@pytest.mark.parametrize("nonsense", NONSENSE.values(), ids=NONSENSE)
@pytest.mark.parametrize("method", METHODS)
def test_nonsense__of_a_node__is_no_difference(method: str, nonsense: bytes) -> None:
    whole = HandMadeNode(HISTORY)
    auditor(whole).look_at_everything()
    places = [number for number, asked in enumerate(whole.asked, 1) if asked == method]
    for begin in {places[0], places[len(places) // 2], places[-1]}:
        report = auditor(HandMadeNode(HISTORY, from_the(begin, method, nonsense))).look_at_everything()
        assert {found.requirement for found in report.found} == {"read"}, report.found
        assert "a-key-of-mine" not in str(report.found)


@pytest.mark.parametrize(
    ("shown", "instead"),
    [(b'["0x', b'["0x00" + "'), (b'["0x', b'["0x' + b"00" * 32 + b'", "0x'), (b'"data": "0x', b'"data": "0xabc')],
)
def test_log_the_hub_has_not_is_unread(shown: bytes, instead: bytes) -> None:
    def alter(_number: int, method: str, answer: bytes) -> bytes:
        return answer.replace(shown, instead) if method == "eth_getLogs" else answer

    report = auditor(HandMadeNode(HISTORY, alter)).look_at_everything()
    assert {found.requirement for found in report.found} == {"read"}


def test_block_after_the_hubs_deployment_is_unread() -> None:
    report = auditor(HandMadeNode(HISTORY), from_block=2).look_at_everything()
    assert ["no Hub was deployed here" in found.seen for found in report.found] == [True]


def test_difference__of_less_than_a_minute__is_none() -> None:
    clock = HandClock()
    node = HandMadeNode(HISTORY)
    cut = {"until": HICCUP_SECONDS - 1}

    def alter(_number: int, method: str, answer: bytes) -> bytes:
        lies = method == "eth_call" and clock.time < cut["until"]
        return answer.replace(b"0x", b"0x01" + b"00" * 31) if lies else answer

    node.alter = alter
    assert auditor(node, clock).look_at_everything().found == []
    clock.time, cut["until"] = 0.0, 1e9
    assert auditor(node, clock).look_at_everything().exit_code() == 1
    assert clock.time > HICCUP_SECONDS


def test_breach__of_one_reading__is_read_again() -> None:
    late, seen = Written([*HISTORY.logs]).submitted(), list[int]()

    class Balanced(HandMadeNode):
        """Answers with one log too many at first, as one of several machines may."""

        def eth_getLogs(self, wanted: dict[str, Any]) -> list[dict[str, object]]:
            seen.append(1)
            self.written = late if len(seen) == 1 else HISTORY
            return super().eth_getLogs(wanted)

    node = Balanced(late)
    assert auditor(node).look_at_everything().found == []
    assert len(seen) > 2


@pytest.mark.parametrize(("times", "read"), [(2, True), (1_000_000, False)])
def test_log__of_a_block_that_is_gone__is_not_taken(times: int, read: bool) -> None:
    left = [times]

    def alter(_number: int, method: str, answer: bytes) -> bytes:
        left[0] -= method == "eth_getLogs"
        gone = f'"blockHash": "{PLACE.block_hash}"'.encode()
        other = b'"blockHash": "0x' + b"cd" * 32 + b'"'
        return answer.replace(gone, other) if method == "eth_getLogs" and left[0] >= 0 else answer

    report = auditor(HandMadeNode(HISTORY, alter)).look_at_everything()
    assert (report.found == []) == read
    assert read or "the chain changed in each of 5 readings" in str(report.found)


def test_breach_is_a_difference_each_time() -> None:
    node = HandMadeNode(Written([*HISTORY.logs]).submitted())
    watching = auditor(node)
    for _ in range(2):
        assert "chain.events" in {found.requirement for found in watching.look_at_news().found}
    asked = node.asked.count("eth_getLogs")
    watching.look_at_news()
    assert node.asked.count("eth_getLogs") - asked <= 3, "what is known is not read from the beginning again"


def test_node__lost_meanwhile__ends_no_part() -> None:
    def no_api(path: str) -> HttpReply:
        return HttpReply(200 if path == "/api/deployment" else 404, {}, b"{}")

    sound = auditor(with_api(HandMadeNode(HISTORY), no_api), api_url=API).look_at_everything()
    chain = HandMadeNode(HISTORY)
    auditor(chain).look_at_everything()
    for method in METHODS:
        node = HandMadeNode(HISTORY, from_the(len(chain.asked) + 1, method, NONSENSE["of-null"]))
        report = auditor(with_api(node, no_api), api_url=API).look_at_everything()
        assert {found.where.split()[0] for found in sound.found} <= {found.where.split()[0] for found in report.found}


def test_node__that_stands_still__blames_no_api(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service_audit.chain.LOCAL_CHAIN_ID", CHAIN + 1)
    ahead = HttpReply(200, {**NAMED, "x-index-block": "999"}, b"{}")
    watching = auditor(with_api(HandMadeNode(HISTORY), lambda _: ahead), api_url=API)
    watching.chain.now = lambda: PLACE.time + STANDS_STILL_SECONDS + 1.0
    (found,) = watching.look_at_everything().found
    assert (found.requirement, found.where) == ("read", "the newest block")
    watching.chain.now = lambda: PLACE.time + 1.0
    blamed = watching.look_at_everything()
    assert any("does not have block 999" in each.seen for each in blamed.found)


def test_other_chain_is_not_believed() -> None:
    node = HandMadeNode(HISTORY)
    watching = auditor(node)
    assert watching.look_at_news().found == []
    node.alter = from_the(1, "eth_chainId", json.dumps({"result": hex(CHAIN + 1)}).encode())
    (found,) = watching.look_at_news().found
    assert (found.requirement, found.seen) == ("read", f"the node is of chain {CHAIN + 1} now, and was of {CHAIN}")


def test_other_final_block_is_reported() -> None:
    node = HandMadeNode(HISTORY)
    watching = auditor(node)
    watching.look_at_news()
    node.alter = lambda _, method, answer: (
        answer.replace(b"00" * 20, b"11" * 20) if method == "eth_getBlockByNumber" else answer
    )
    assert "is another one now" in str(watching.look_at_news().found)


@pytest.mark.parametrize(
    "body",
    [b'{"a": NaN}', b'{"a": -Infinity}', b'{"a": {"b": 1, "b": 2}}', b"", b"<html>", b"[" * 100_000, b"9" * 5_000],
    ids=["nan", "infinity", "twice", "none", "html", "deep", "long"],
)
def test_json__that_readers_take_differently__is_none(body: bytes) -> None:
    with pytest.raises(Unread, match="no JSON"):
        HttpReply(200, {}, body).json()


def endless(path: str, count: int, items: int) -> dict[str, object]:
    """A page of a list that has no last one."""
    found: list[dict[str, object]] = [{"bounty_id": "1", "number": count, "kind": "event", "event": {}}] * items
    if path.startswith("/api/changes"):
        return {"items": found, "has_more": True, "next_after": count}
    return {"items": found, "next_cursor": str(count), "total_count": None}


@pytest.mark.parametrize(
    ("path", "items", "requirement"),
    [("/api/bounties?", 0, "list.items"), ("/api/bounties?", 1, "list.items"), ("/api/changes?", 0, "changes.log")],
)
def test_list__without_a_last_page__costs_few_requests(path: str, items: int, requirement: str) -> None:
    asked = list[str]()

    def answer(asked_path: str) -> HttpReply:
        if not asked_path.startswith(path):
            return HttpReply(404, {}, b"{}")
        asked.append(asked_path)
        return HttpReply(200, NAMED, json.dumps(endless(path, len(asked), items)).encode())

    report = auditor(with_api(HandMadeNode(HISTORY), answer), api_url=API).look_at_news()
    attempts = 1 + HICCUP_SECONDS // 16 + 1
    assert 0 < len(asked) <= attempts * (MAX_SURPLUS + 10)
    assert (requirement, path.rstrip("?")) in wheres(report)


def test_changes_beyond_the_requested_are_left() -> None:
    event = {"kind": "event", "event": {"block_number": 1, "log_index": 0}}
    retraction = {"kind": "retraction", "last_block_number": 1}
    items = [{**(event if number < 20_000 else retraction), "number": number + 1} for number in range(40_000)]
    page = json.dumps({"items": items, "has_more": False, "next_after": 40_000}).encode()

    def answer(path: str) -> HttpReply:
        return HttpReply(200, NAMED, page) if "/api/changes" in path else HttpReply(404, {}, b"{}")

    report = auditor(with_api(HandMadeNode(HISTORY), answer), api_url=API).look_at_news()
    found = [each.seen for each in report.found if each.requirement.startswith("changes.")]
    assert found == ["ValueError: a page with more changes than were asked for"]


@pytest.mark.parametrize("finalized", [6.0, True, "6"])
def test_final_block__that_is_no_integer__differs(finalized: object) -> None:
    position = {"block_number": PLACE.block_number, "block_hash": PLACE.block_hash, "block_time": PLACE.time}
    status = json.dumps({"position": {**position, "finalized_block_number": finalized}}).encode()

    def answer(path: str) -> HttpReply:
        return HttpReply(200, NAMED, status) if path == "/api/status" else HttpReply(404, {}, b"{}")

    report = auditor(with_api(HandMadeNode(HISTORY), answer), api_url=API).look_at_news()
    assert ("status.position", "/api/status finalized_block_number") in wheres(report)


def test_look_at_news_takes_new_and_differing() -> None:
    written = Written([*HISTORY.logs])
    node = HandMadeNode(written)
    watching: Auditor = auditor(node, sample=0)
    watching.look_at_news()
    node.asked.clear()
    watching.look_at_news()
    quiet = node.asked.count("eth_call")
    claim = {"bounty_id": 1, "solver": written.logs[-1].text("winner"), "amount": written.logs[-1].number("award")}
    written.add("AwardClaimed", PLACE.time + 1, claim)
    node.asked.clear()
    report = watching.look_at_news()
    assert node.asked.count("eth_call") > quiet, "the views of the bounty with news"
    # The hand-made token does not move: that is what differs, until it does.
    assert {found.requirement for found in report.found} <= {"money.transfers", "money.conservation"}


def test_unknown_bounty__is_not_looked_at() -> None:
    assert auditor(HandMadeNode(HISTORY)).look_at(7).found == []


def test_one_bounty__is_looked_at_alone() -> None:
    asked = list[str]()

    def answer(path: str) -> HttpReply:
        asked.append(path.partition("?")[0])
        return HttpReply(404, {}, b"{}")

    report = auditor(with_api(HandMadeNode(HISTORY), answer), api_url=API).look_at(1)
    assert ("bounty.facts", "/api/bounties/1") in wheres(report)
    assert "/api/changes" not in asked
