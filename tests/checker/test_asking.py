"""What the checker asks costs a bounded time, and what it reports is one line, whatever answers."""

import io
import json
import socket
from collections.abc import Mapping
from itertools import chain, repeat
from threading import Thread
from typing import Any

import pytest
import urllib3
from service_checker import asking
from service_checker.asking import (
    MAX_BYTES,
    MAX_PART_BYTES,
    MAX_SECONDS,
    MAX_SILENT,
    PATIENCE_SECONDS,
    BoundedExchange,
    BoundedStream,
    Http,
    HttpReply,
    Node,
    PublicApi,
    Unread,
)
from service_checker.report import MAX_FOUND, MAX_SHOWN, CheckReport, alike
from service_checker.run import CheckOptions, check

from tests.raw_server import raw_server


def test_api__that_is_busy_for_good__is_asked_for_a_bounded_time() -> None:
    slept = list[float]()
    busy = HttpReply(503, {"retry-after": "7"}, b"{}")
    api = PublicApi("http://api", lambda *_: busy, sleep=slept.append)
    for _ in range(MAX_SILENT):
        assert api.get("/api/status").status == 503
    with pytest.raises(Unread, match="not asked"):
        api.get("/api/status")
    assert sum(slept) == MAX_SILENT * PATIENCE_SECONDS


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("http://127.0.0.1:1/v1/a-key-of-mine?key=a-key-of-mine", "http://127.0.0.1"),
        ("http://me:a-key-of-mine@127.0.0.1:1/", "http://127.0.0.1"),
        ("http://127.0.0.1:99999/a-key-of-mine", "http://127.0.0.1"),
        ("http://a-key-of-mine@[127/", "the address"),
        ("http://a-key-of-mine@a\u2100b/", "the address"),
        ("http:///a-key-of-mine", "the address"),
    ],
)
def test_endpoint__that_does_not_answer__is_named_without_its_key(url: str, named: str) -> None:
    findings = check(CheckOptions(url, "0x" + "ab" * 20))
    (found,) = findings.found
    assert (found.requirement, found.seen.partition(" did not answer: ")[0]) == ("checked", named)
    assert "a-key" not in findings.as_json() + "".join(findings.lines())


def test_endpoint__that_repeats_its_key__is_shown_without_it() -> None:
    refusal = HttpReply(401, {}, b'{"error": {"message": "a-key-of-mine is disabled"}}')
    with pytest.raises(Unread, match="is disabled") as found:
        Node("http://node/v1/a-key-of-mine", lambda *_: refusal).call("eth_chainId")
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


class OneAnswer(urllib3.PoolManager):
    """Answers every request with one body."""

    def __init__(self, body: io.BufferedIOBase) -> None:
        super().__init__()
        self.body = body

    def request(self, *_: object, **__: object) -> urllib3.HTTPResponse:
        return urllib3.HTTPResponse(self.body, preload_content=False)


def test_body__that_drips__is_given_up_at_its_time() -> None:
    body = DrippingBody()
    http = Http(OneAnswer(io.BufferedReader(body)), body.clock)
    with pytest.raises(Unread, match="takes more than"):
        http("GET", "http://api/api/status", None, {})
    assert body.seconds <= MAX_SECONDS + 1


def test_answer__whose_every_byte_drips__is_given_up_at_its_time() -> None:
    body, (near, far) = DrippingBody(), socket.socketpair()
    with near, far:
        stream = io.BufferedReader(BoundedStream(near, body, body.clock), 1)
        with pytest.raises(TimeoutError):
            stream.readline()
    assert body.seconds <= MAX_SECONDS + 1


ENDLESS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;"


@pytest.mark.attack
@pytest.mark.parametrize(
    "begin", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nX: ", ENDLESS], ids=["fields", "field", "chunk"]
)
def test_answer__whose_frame_never_ends__is_given_up(monkeypatch: pytest.MonkeyPatch, begin: bytes) -> None:
    monkeypatch.setattr(asking, "MAX_BYTES", 1 << 16)
    monkeypatch.setattr(asking, "MAX_FRAMING", 1 << 20)
    rest = repeat(b"a: b\r\n" * 1_000 if begin.endswith(b"OK\r\n") else b"a" * 10_000)
    with raw_server(lambda: chain((begin,), rest)) as server, pytest.raises(Unread):
        Http()("GET", server.url, None, {})


@pytest.mark.attack
@pytest.mark.parametrize("begin", [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: ", ENDLESS], ids=["field", "chunk"])
def test_answer__whose_frame_drips__is_given_up_before_it_ends(monkeypatch: pytest.MonkeyPatch, begin: bytes) -> None:
    end = b"\r\n[\r\n1\r\n]\r\n0\r\n\r\n" if begin is ENDLESS else b"\r\n\r\n[]"
    with raw_server(lambda: [begin + b"a" + end]) as server:
        assert Http()("GET", server.url, None, {}).json() == []
    monkeypatch.setattr(asking, "MAX_SECONDS", 0.2)
    dripping = raw_server(lambda: chain((begin,), repeat(b"a", 200), (end,)), pause=0.01)
    with dripping as server, pytest.raises(Unread):
        Http()("GET", server.url, None, {})


@pytest.mark.attack
@pytest.mark.parametrize("head", [b"Content-Encoding: gzip", b"content-encoding: br, identity"])
def test_answer__in_an_encoding_that_nobody_asked_for__is_not_read(head: bytes) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + head + b"\r\n\r\n[]"
    with raw_server(lambda: [answer]) as server, pytest.raises(Unread, match="in an encoding"):
        Http()("GET", server.url, None, {})


@pytest.mark.parametrize("head", [b"Content-Encoding: identity\r\n", b""])
def test_answer__as_it_is__is_read_and_its_connection_used_again(head: bytes) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + head + b"\r\n[]"
    http = Http()
    with raw_server(lambda: [answer]) as server:
        assert [http("POST", server.url, b"{}", {}).json() for _ in range(3)] == [[], [], []]
        assert server.connections == 1


class LongLogs:
    """A node of one block whose every range has as many bytes of logs as one answer may have."""

    def __init__(self, each: int) -> None:
        self.log = {"address": "0x" + "ab" * 20, "logIndex": "0x0", "data": "0x" + "00" * (each // 2), "topics": []}
        self.sent = 0

    def __call__(self, _method: str, url: str, body: bytes | None, _headers: Mapping[str, str]) -> HttpReply:
        asked = json.loads(body or b"")
        found: object = {"number": hex(10**9), "hash": "0x" + "1" * 64, "timestamp": "0x3"}
        if asked["method"] == "eth_chainId":
            found = "0x1"
        elif asked["method"] == "eth_getLogs":
            found = [{**self.log, "blockNumber": asked["params"][0]["fromBlock"]}]
        answer = json.dumps({"result": found}).encode()
        self.sent += len(answer)
        return HttpReply(200, {}, answer)


@pytest.mark.attack
def test_endpoint__that_sends_logs_without_end__is_named_and_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service_checker.chain.MAX_PART_BYTES", 1 << 20)
    node = LongLogs(each=1 << 18)
    findings = check(CheckOptions("http://node:8545/v1/a-key-of-mine", "0x" + "ab" * 20, exchange=node))
    (found,) = findings.found
    assert found.requirement == "checked"
    assert found.seen.startswith("http://node sent more than")
    assert found.seen.endswith("another endpoint in --rpc")
    assert node.sent < (1 << 20) + (1 << 19)


@pytest.mark.attack
def test_framing__counts_for_what_a_host_may_send(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MAX_CHECK_BYTES", 1_000)

    def framed(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(10_000)
            head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            connection.sendall(head + b"1;" + b"a" * 5_000 + b"\r\n1\r\n0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        answering = Thread(target=framed, args=(server,))
        answering.start()
        bounded, url = BoundedExchange(Http(), 60.0), f"http://127.0.0.1:{server.getsockname()[1]}/"
        assert bounded("GET", url, None, {}).body == b"1"
        answering.join()
        with pytest.raises(Unread, match="has sent more than"):
            bounded("GET", url, None, {})


def test_host__that_refuses_at_once__is_asked_again_and_one_that_hangs_is_not() -> None:
    now = [0.0]
    waits = {"http://cuts/": 0.0, "http://hangs/": 40.0}

    def silent(_method: str, url: str, *_: object) -> HttpReply:
        now[0] += waits[url]
        raise Unread("nothing came")

    bounded = BoundedExchange(silent, 10_000.0, lambda: now[0])
    for _ in range(50):
        with pytest.raises(Unread, match="nothing came"):
            bounded("GET", "http://cuts/", None, {})
    for expected in (*["nothing came"] * 3, "not asked"):
        with pytest.raises(Unread, match=expected):
            bounded("GET", "http://hangs/", None, {})


@pytest.mark.attack
def test_host__that_sends_more_than_a_check_may_cost__is_asked_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MAX_CHECK_BYTES", 100)

    def sends(_method: str, url: str, *_: object) -> HttpReply:
        if "broken" in url:
            raise Unread("it ended in the middle", 60)
        return HttpReply(200, {}, b"1" * 60)

    bounded = BoundedExchange(sends, 60.0)
    for url in ("http://whole/", "http://whole/"):
        bounded("GET", url, None, {})
    for _ in range(2):
        with pytest.raises(Unread, match="in the middle"):
            bounded("GET", "http://broken/", None, {})
    for host in ("http://whole", "http://broken"):
        with pytest.raises(Unread, match=f"not asked: {host} has sent more than"):
            bounded("GET", host + "/a-key-of-mine", None, {})
    assert bounded("GET", "http://another/", None, {}).status == 200


@pytest.mark.attack
def test_answer__that_is_given_up__counts_with_what_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MAX_BYTES", 1 << 16)
    endless = raw_server(lambda: chain((ENDLESS[:-2],), repeat(b"1000\r\n" + b"a" * 4_096 + b"\r\n")))
    with endless as server, pytest.raises(Unread) as found:
        Http()("GET", server.url, None, {})
    assert found.value.received > 1 << 16


def test_list__of_more_bytes_than_can_be_held__is_given_up() -> None:
    api = PublicApi("http://api", lambda *_: HttpReply(200, {}, b"[]"), received=MAX_PART_BYTES)
    api.bound_part(0)
    api.get("/api/changes")
    api.bound_part(2)
    with pytest.raises(Unread, match="a list of more than"):
        api.bound_part(0)


@pytest.mark.parametrize("body", [b"", b"[]", b"[" + b" " * 300_000 + b"]"], ids=["empty", "short", "long"])
def test_body__of_any_length__is_read_whole(body: bytes) -> None:
    assert Http(OneAnswer(io.BytesIO(body)))("GET", "http://api/", None, {}).body == body


def test_body__of_more_than_the_limit__is_given_up() -> None:
    with pytest.raises(Unread, match="more than"):
        Http(OneAnswer(io.BytesIO(bytes(MAX_BYTES + 1))))("GET", "http://api/", None, {})


def test_answer__after_a_busy_one__is_taken_and_forgets_the_silence() -> None:
    answers = [HttpReply(429, {}, b"{}"), HttpReply(200, {}, b"[]")]
    api = PublicApi("http://api", lambda *_: answers.pop(0), sleep=lambda _: None)
    assert (api.get("/a").json(), api.silent) == ([], 0)


def test_answer__that_is_no_json_or_nested_without_end__cannot_be_read() -> None:
    for body in (b"", b"<html>", b"[" * 100_000, b"9" * 5_000):
        with pytest.raises(Unread):
            HttpReply(200, {}, body).json()


def test_node__that_does_not_answer__ends_the_check_with_code_2() -> None:
    def silent(*_: object) -> HttpReply:
        raise Unread("it did not answer")

    findings = check(CheckOptions("http://node", "0x" + "ab" * 20, "http://api", exchange=silent))
    assert (findings.exit_code(), [found.requirement for found in findings.found]) == (2, ["checked"])


def test_node__that_answers_nonsense__ends_the_check_with_code_2() -> None:
    def strange(_method: str, _url: str, body: bytes | None, _headers: Mapping[str, str]) -> HttpReply:
        assert body is not None
        result = {"number": "0x1", "hash": "0x2", "timestamp": "0x3"}
        asked = json.loads(body)["method"]
        return HttpReply(200, {}, json.dumps({"result": [{}] if asked == "eth_getLogs" else result}).encode())

    findings = check(CheckOptions("http://node", "0x" + "ab" * 20, exchange=strange))
    assert findings.exit_code() == 2


def test_difference__with_hostile_text__is_one_line_of_bounded_length() -> None:
    findings = CheckReport()
    findings.add("list.items", "item \x1b[2J\n1", "a", "b\r\n" * 1_000)
    (line, _) = findings.lines()
    assert line.isprintable()
    assert len(line) < 2 * MAX_SHOWN


def test_differences__beyond_a_number__are_counted() -> None:
    findings = CheckReport()
    for number in range(MAX_FOUND + 7):
        findings.add("list.items", f"item {number}", 1, 2)
    *_, further, last = findings.lines()
    assert (further, last.split()[0]) == ("list.items  7 further differences", str(MAX_FOUND + 7))


@pytest.mark.parametrize(
    ("one", "other"), [(1, True), (1, 1.0), ("1", 1), ({"a": 1}, {"a": 1, "b": 2}), ([0], [False]), (None, 0)]
)
def test_values__of_another_type_or_shape__are_not_alike(one: object, other: object) -> None:
    assert not alike(one, other)
    assert alike(one, one)
