"""What the audit asks costs a bounded time and memory, and what it reports is one line, whatever answers."""

import io
import json
import socket
from collections.abc import Mapping
from itertools import chain, repeat
from typing import Any, Final

import pytest
from service_audit import http, node
from service_audit.answers import MAX_LIST_BYTES, PublicApi
from service_audit.http import (
    ANSWER_SECONDS,
    MAX_SILENT_SECONDS,
    PATIENCE_SECONDS,
    BoundedStream,
    HttpReply,
    Requests,
    Transport,
    Unread,
    UrllibTransport,
)
from service_audit.node import Node
from service_audit.report import MAX_FOUND, MAX_SHOWN, Report, alike

from tests.clocks import HandClock
from tests.raw_server import raw_server

ENDLESS: Final = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;"


def requests(transport: Transport, clock: HandClock | None = None) -> Requests:
    clock = clock or HandClock()
    return Requests(transport, clock.monotonic, clock.sleep)


def test_api__that_stays_busy__costs_a_bounded_time() -> None:
    clock = HandClock()
    sent = requests(lambda *_: HttpReply(503, {"retry-after": "7"}, b"{}"), clock)
    for _ in range(20):
        try:
            assert sent.send("GET", "http://api/", None, {}).status == 503
        except Unread as error:
            assert "not asked" in str(error)
    assert PATIENCE_SECONDS <= clock.time <= MAX_SILENT_SECONDS + PATIENCE_SECONDS


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("http://127.0.0.1:1/v1/a-key-of-mine?key=a-key-of-mine", "http://127.0.0.1"),
        ("http://me:a-key-of-mine@127.0.0.1:1/", "http://127.0.0.1"),
        ("http://127.0.0.1:99999/a-key-of-mine", "http://127.0.0.1"),
        ("http://a-key-of-mine@[127/", "the address"),
        ("http:///a-key-of-mine", "the address"),
    ],
)
def test_endpoint__that_is_away__is_named_without_key(url: str, named: str) -> None:
    with pytest.raises(Unread) as found:
        Node(url, Requests()).call("eth_chainId")
    assert str(found.value).partition(" did not answer: ")[0] == named
    assert "a-key" not in str(found.value)


def test_key_in_an_address_is_not_shown() -> None:
    refusal = HttpReply(401, {}, b'{"error": {"message": "a-key-of-mine is disabled"}}')
    with pytest.raises(Unread, match="is disabled") as found:
        Node("http://node/v1/a-key-of-mine", requests(lambda *_: refusal)).call("eth_chainId")
    assert "a-key" not in str(found.value)


class DrippingBody(io.RawIOBase):
    """A body of one byte each second, by the clock that it is."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.seconds += 1
        buffer[:1] = b" "
        return 1

    def clock(self) -> float:
        return self.seconds


def test_answer__whose_every_byte_drips__is_given_up() -> None:
    body, (near, far) = DrippingBody(), socket.socketpair()
    with near, far:
        stream = io.BufferedReader(BoundedStream(near, body, body.clock), 1)
        with pytest.raises(TimeoutError):
            stream.readline()
    assert body.seconds <= ANSWER_SECONDS + 1


@pytest.mark.parametrize(
    "begin",
    [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nX: ", ENDLESS, b"HTTP/1.1 200 OK\r\n\r\n"],
    ids=["fields", "field", "chunk", "body"],
)
def test_frame__that_never_ends__is_given_up(monkeypatch: pytest.MonkeyPatch, begin: bytes) -> None:
    monkeypatch.setattr(http, "MAX_BYTES", 1 << 16)
    monkeypatch.setattr(http, "MAX_FRAMING", 1 << 20)
    rest = repeat(b"a: b\r\n" * 1_000 if begin.endswith(b"OK\r\n") else b"a" * 10_000)
    with raw_server(lambda: chain((begin,), rest)) as server, pytest.raises(Unread):
        UrllibTransport()("GET", server.url, None, {})


@pytest.mark.parametrize("begin", [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: ", ENDLESS], ids=["field", "chunk"])
def test_frame__that_drips__is_given_up(monkeypatch: pytest.MonkeyPatch, begin: bytes) -> None:
    end = b"\r\n[\r\n1\r\n]\r\n0\r\n\r\n" if begin is ENDLESS else b"\r\n\r\n[]"
    with raw_server(lambda: [begin + b"a" + end]) as server:
        assert UrllibTransport()("GET", server.url, None, {}).json() == []
    monkeypatch.setattr(http, "ANSWER_SECONDS", 0.2)
    dripping = raw_server(lambda: chain((begin,), repeat(b"a", 200), (end,)), pause=0.01)
    with dripping as server, pytest.raises(Unread):
        UrllibTransport()("GET", server.url, None, {})


@pytest.mark.parametrize("head", [b"Content-Encoding: gzip", b"content-encoding: br, identity"])
def test_answer__in_an_encoding__is_not_read(head: bytes) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + head + b"\r\n\r\n[]"
    with raw_server(lambda: [answer]) as server, pytest.raises(Unread, match="in an encoding"):
        UrllibTransport()("GET", server.url, None, {})


def test_host__that_hangs__gets_no_more_requests() -> None:
    clock = HandClock()
    waits = {"http://cuts/": 0.0, "http://hangs/": 40.0}

    def silent(_method: str, url: str, *_: object) -> HttpReply:
        clock.time += waits[url]
        raise Unread("nothing came")

    sent = requests(silent, clock)
    for _ in range(50):
        with pytest.raises(Unread, match="nothing came"):
            sent.send("GET", "http://cuts/", None, {})
    for expected in (*["nothing came"] * 3, "not asked"):
        with pytest.raises(Unread, match=expected):
            sent.send("GET", "http://hangs/", None, {})
    sent.begin(1_000.0)
    with pytest.raises(Unread, match="nothing came"):
        sent.send("GET", "http://hangs/", None, {})


def test_host_that_sends_too_much_is_asked_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_LOOK_BYTES", 100)
    sent = requests(lambda *_: HttpReply(200, {}, b"1" * 60))
    for _ in range(2):
        sent.send("GET", "http://whole/", None, {})
    with pytest.raises(Unread, match="not asked: http://whole has sent more than"):
        sent.send("GET", "http://whole/a-key-of-mine", None, {})
    assert sent.send("GET", "http://another/", None, {}).status == 200


def test_look__whose_time_is_over__sends_nothing() -> None:
    clock = HandClock()
    sent = requests(lambda *_: HttpReply(200, {}, b"{}"), clock)
    sent.begin(10.0)
    clock.time = 10.0
    with pytest.raises(Unread, match="time of this look"):
        sent.send("GET", "http://api/", None, {})


def test_list_too_long_to_hold_is_given_up() -> None:
    api = PublicApi("http://api", requests(lambda *_: HttpReply(200, {}, b"[]")), received=MAX_LIST_BYTES)
    api.bound_list(0)
    api.get("/api/changes")
    api.bound_list(2)
    with pytest.raises(Unread, match="a list of more than"):
        api.bound_list(0)


# ---------------------------------------------------------------------- a node


class Logs:
    """A node with one log in each of so many blocks, that refuses longer ranges and batches than it likes."""

    def __init__(self, blocks: int, longest: int = 1 << 40, batch: int = 1 << 40) -> None:
        self.blocks, self.longest, self.batch, self.requests = blocks, longest, batch, 0

    def __call__(self, _method: str, _url: str, body: bytes | None, _headers: Mapping[str, str]) -> HttpReply:
        self.requests += 1
        asked = json.loads(body or b"")
        if not isinstance(asked, list):
            return HttpReply(200, {}, json.dumps(self._one(asked)).encode())
        if len(asked) > self.batch:
            return HttpReply(413, {}, b'{"error": {"message": "too large"}}')
        return HttpReply(200, {}, json.dumps([self._one(each) for each in reversed(asked)]).encode())

    def _one(self, asked: Mapping[str, Any]) -> dict[str, object]:
        if asked["method"] != "eth_getLogs":
            return {"id": asked["id"], "result": asked["params"][0]}
        begin, end = (int(asked["params"][0][name], 16) for name in ("fromBlock", "toBlock"))
        if end - begin >= self.longest:
            return {"id": asked["id"], "error": {"message": "range too long"}}
        log = {"address": "0x" + "ab" * 20, "logIndex": "0x0"}
        return {"id": asked["id"], "result": [{**log, "blockNumber": hex(number)} for number in range(begin, end + 1)]}


def numbers(node: Node, last: int) -> list[int]:
    found = (each for part in node.logs(0, last, "0x" + "ab" * 20) for each in part)
    return [int(each["blockNumber"], 16) for each in found]


@pytest.mark.parametrize(("longest", "most"), [(1 << 40, 4), (1_000, 16), (7, 1_600)])
def test_ranges__that_are_refused__are_halved(longest: int, most: int) -> None:
    answers = Logs(10_000, longest)
    assert numbers(Node("http://node", requests(answers)), 9_999) == list(range(10_000))
    assert answers.requests <= most + 64, "few of the requests are refused ones"


@pytest.mark.parametrize("batch", [1 << 40, 30, 1])
def test_batches__that_are_refused__are_halved(batch: int) -> None:
    answers = Logs(0, batch=batch)
    node_of = Node("http://node", requests(answers))
    calls = [("eth_chainId", [number]) for number in range(250)]
    assert node_of.batch(calls) == list(range(250)), "in the order of the calls"
    assert answers.requests <= 250 // min(batch, 100) + 12


def test_batch__with_a_refused_call__has_all_others() -> None:
    def answer(_method: str, _url: str, body: bytes | None, _headers: Mapping[str, str]) -> HttpReply:
        asked = json.loads(body or b"")
        found = [
            {"id": each["id"], **({"error": {"message": "no"}} if each["params"] == [1] else {"result": "yes"})}
            for each in (asked if isinstance(asked, list) else [asked])
        ]
        return HttpReply(200, {}, json.dumps(found if isinstance(asked, list) else found[0]).encode())

    results = Node("http://node", requests(answer)).batch([("eth_call", [number]) for number in range(3)])
    assert [isinstance(each, Unread) for each in results] == [False, True, False]


@pytest.mark.parametrize(
    ("what", "changed"),
    [
        ("of another contract", lambda logs: [{**logs[0], "address": "0x" + "dd" * 20}, *logs[1:]]),
        ("twice", lambda logs: [*logs, logs[-1]]),
        ("in another order", lambda logs: logs[::-1]),
        ("of another block", lambda logs: [*logs[:-1], {**logs[-1], "blockNumber": "0xffffff"}]),
    ],
)
def test_logs__that_were_not_requested__are_not_read(what: str, changed: Any) -> None:
    true = Logs(10)

    def answer(*request: Any) -> HttpReply:
        found = true(*request).json()
        return HttpReply(200, {}, json.dumps({**found, "result": changed(found["result"])}).encode())

    with pytest.raises(Unread, match="a list of logs cannot be read"):
        numbers(Node("http://node", requests(answer)), 9)
    assert what


def test_logs__without_end__are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "MAX_LOGS", 5_000)
    answers = Logs(1 << 40)
    with pytest.raises(Unread, match="http://node sent more than 5,000 logs: use another endpoint in --rpc"):
        numbers(Node("http://node:8545/v1/a-key-of-mine", requests(answers)), 1 << 40)
    assert answers.requests < 5


# ---------------------------------------------------------------------- a report


def test_hostile_difference_is_one_bounded_line() -> None:
    report = Report()
    report.add("list.items", "item \x1b[2J\n1", "a", "b\r\n" * 1_000)
    (found,) = report.found
    assert all(text.isprintable() and len(text) < 2 * MAX_SHOWN for text in (found.where, found.seen))


def test_differences__beyond_a_number__are_counted() -> None:
    report = Report()
    for number in range(MAX_FOUND + 7):
        report.add("list.items", f"item {number}", 1, 2)
    assert (len(report.found), report.more["list.items"], report.count) == (MAX_FOUND, 7, MAX_FOUND + 7)


@pytest.mark.parametrize(
    ("one", "other"), [(1, True), (1, 1.0), ("1", 1), ({"a": 1}, {"a": 1, "b": 2}), ([0], [False]), (None, 0)]
)
def test_values_of_other_types_are_not_alike(one: object, other: object) -> None:
    assert not alike(one, other)
    assert alike(one, one)
