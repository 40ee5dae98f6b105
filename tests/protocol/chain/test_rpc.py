"""Endpoints that fail, lie, refuse or limit: sending, splitting, retries and agreement."""

import json
import math
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import Any

import pytest
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.endpoints import LARGER_AFTER, MOST_CALLS
from bounty_protocol.chain.logs import ENOUGH_LOGS, logs_of_range
from bounty_protocol.chain.rpc import (
    LIMIT_WAITS,
    Call,
    ChainUnavailable,
    OneEndpoint,
    Rpc,
    RpcRefused,
    block_number,
    block_time,
    quantity,
)
from bounty_protocol.chain.rpc_answers import PLAIN_BYTES
from bounty_protocol.types import Address, BlockNumber

from tests.cli.servers import Lost, Refusal, Reply, Request, Server, as_json
from tests.raw_server import raw_server, whole

HANG_SECONDS = 0.3
Calls = list[dict[str, Any]]
Answer = Callable[[str, list[Any]], object]
"""What a call of this method and these parameters is answered: a result, or a ``Refusal``."""


@dataclass
class ScriptedNode:
    """A node that answers by a function; ``sent`` has the number of calls of each request."""

    url: str
    sent: list[int] = field(default_factory=list)


def echoed(_method: str, params: list[Any]) -> object:
    """A result that tells calls apart."""
    return params[0] if params else "0x10"


@contextmanager
def node(
    answer: Answer = echoed,
    refuse: Callable[[Calls], Reply | None] = lambda _calls: None,
    hang: Callable[[Calls], bool] = lambda _calls: False,
) -> Iterator[ScriptedNode]:
    """A node that may ``refuse`` a whole request, or ``hang``."""
    free = Event()

    def one(call: dict[str, Any]) -> dict[str, object]:
        found = answer(call["method"], call["params"])
        body = found.body if isinstance(found, Refusal) else {"result": found}
        return {"jsonrpc": "2.0", "id": call["id"], **body}

    def reply(request: Request) -> Reply:
        read = json.loads(request.body)
        calls = read if isinstance(read, list) else [read]
        made.sent.append(len(calls))
        if hang(calls):
            free.wait()
            raise Lost
        if (refused := refuse(calls)) is not None:
            return refused
        answers = [one(call) for call in calls]
        return as_json(answers if isinstance(read, list) else answers[0])

    with Server(reply) as server:
        made = ScriptedNode(server.url)
        yield made
        free.set()


@contextmanager
def endpoint(body: bytes, status: int = 200) -> Iterator[str]:
    """A server that always answers this."""
    with Server(lambda _: (status, body, {})) as server:
        yield f"{server.url}/v1/secret-key"


GOOD = json.dumps({"jsonrpc": "2.0", "id": 0, "result": "0x10"}).encode()
BAD = [b"", b"<html>", b"[]", b'{"id":0}', b'{"id":7,"result":"0x1"}', b"null", b'{"id":0,"error":"text"}']
BAD += [b'{"id":0,"error":{"code":1e999}}', b'{"id":0,"error":{"code":NaN}}', b'{"id":0,"error":{"code":{}}}']


@pytest.mark.parametrize("body", BAD)
def test_malformed_answer_is_passed_over(body: bytes) -> None:
    with endpoint(body) as bad, endpoint(GOOD) as good:
        assert quantity(Rpc([bad, good]).call("eth_blockNumber")) == 16
        with pytest.raises(ChainUnavailable) as caught:
            Rpc([bad]).call("eth_blockNumber")
    assert "secret-key" not in str(caught.value)


@pytest.mark.parametrize(("size", "kind"), [(PLAIN_BYTES // 2, RpcRefused), (PLAIN_BYTES, ChainUnavailable)])
def test_error_that_is_too_long_is_no_refusal(size: int, kind: type[Exception]) -> None:
    body = json.dumps({"id": 0, "error": {"code": 3, "message": "x" * size}}).encode()
    with endpoint(body) as url, pytest.raises(kind):
        Rpc([url]).call("eth_getLogs", {"blockHash": "0x" + "22" * 32})


def test_refusal_has_revert_data_and_no_retry() -> None:
    body = json.dumps({"id": 0, "error": {"code": 3, "message": "reverted", "data": "0xdeadbeef"}}).encode()
    with endpoint(body) as url, pytest.raises(RpcRefused) as caught:
        Rpc([url]).call("eth_call")
    assert caught.value.data == bytes.fromhex("deadbeef")


@pytest.mark.parametrize("at_once", [1, len(whole(b""))], ids=["head and body", "body"])
def test_endpoint__whose_answer_drips__is_passed_over(at_once: int) -> None:
    answer = whole(GOOD + b" " * 60)

    def pieces() -> Iterator[bytes]:
        yield answer[:at_once]
        yield from (answer[at : at + 1] for at in range(at_once, len(answer)))

    with raw_server(pieces, pause=0.05) as slow, endpoint(GOOD) as good:
        rpc = Rpc([slow.url, good]).bounded(seconds=1.5, max_answer_bytes=1_000)
        assert rpc.call("eth_blockNumber") == "0x10"
        assert rpc.endpoints.preferred.place == 2
        with pytest.raises(ChainUnavailable) as caught:
            Rpc([slow.url]).bounded(seconds=1.5, max_answer_bytes=1_000).call("eth_blockNumber")
    assert caught.value.cause == "no answer in time"
    assert "secret-key" not in str(caught.value)


def test_connection_is_kept_unless_too_much_came() -> None:
    with raw_server(lambda: [whole(GOOD)]) as sound:
        rpc = Rpc([sound.url])
        assert [rpc.call("eth_blockNumber") for _ in range(3)] == ["0x10"] * 3
        assert sound.connections == 1
        narrow = rpc.bounded(seconds=5.0, max_answer_bytes=10)
        for _ in range(2):
            with pytest.raises(ChainUnavailable) as caught:
                narrow.call("eth_blockNumber")
            assert caught.value.cause == "an answer of more than 10 bytes"


LOG: dict[str, object] = {
    "address": "0x" + "42" * 20,
    "topics": ["0x" + "11" * 32] * 4,
    "data": "0x" + "00" * 64,
    "blockNumber": "0x1",
    "blockHash": "0x" + "22" * 32,
    "transactionHash": "0x" + "33" * 32,
    "logIndex": "0x0",
}
BLOCK = {
    "number": "0x1",
    "hash": "0x" + "22" * 32,
    "parentHash": "0x" + "11" * 32,
    "timestamp": "0x2",
}
BUSY = BLOCK | {"transactions": ["0x" + "44" * 32] * 12_000}
RANGE = {"fromBlock": "0x1", "toBlock": "0x2"}


@pytest.mark.parametrize(
    ("method", "place", "result", "read"),
    [
        ("eth_chainId", {}, "0x" + "0" * 64_000, "0x" + "0" * 64_000),
        ("eth_chainId", {}, "0x" + "0" * PLAIN_BYTES, None),
        ("eth_call", {}, "0x" + "0" * PLAIN_BYTES, None),
        ("eth_getCode", {}, "0x" + "0" * PLAIN_BYTES, "0x" + "0" * PLAIN_BYTES),
        ("eth_getCode", {}, {"not": "code"}, None),
        ("eth_getBlockByNumber", {}, BUSY, BLOCK),
        ("eth_getBlockByNumber", {}, None, None),
        ("eth_getBlockByNumber", {}, BLOCK | {"hash": "0x22"}, "refused"),
        ("eth_getBlockByNumber", {}, BLOCK | {"transactions": BUSY["transactions"] * 2}, "refused"),
        ("eth_getProof", {}, {"accountProof": ["0x" + "00" * 532] * 9}, {"accountProof": ["0x" + "00" * 532] * 9}),
        ("eth_getProof", {}, {"accountProof": ["0x" + "00" * 532] * 99}, "refused"),
        ("eth_getLogs", RANGE, [LOG | {"more": "than this"}] * 9_000, [LOG] * 9_000),
        ("eth_getLogs", RANGE, [LOG] * 12_000, "refused"),
        ("eth_getLogs", {"blockHash": LOG["blockHash"]}, [LOG] * 12_000, [LOG] * 12_000),
        ("eth_getLogs", {"fromBlock": "0x1", "toBlock": "0x1"}, [LOG] * 12_000, [LOG] * 12_000),
        ("eth_getLogs", RANGE, [[]], "refused"),
        ("eth_getLogs", RANGE, [LOG | {"topics": ["0x1"]}], "refused"),
        ("eth_getLogs", RANGE, [{name: value for name, value in LOG.items() if name != "address"}], "refused"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 30 else "",
)
def test_answer_is_read_by_its_method(method: str, place: dict[str, str], result: object, read: object) -> None:
    refused = read == "refused" or (read is None and result is not None)
    with endpoint(json.dumps({"id": 0, "result": result}).encode()) as url:
        rpc = Rpc([url])
        if refused:
            with pytest.raises(ChainUnavailable):
                rpc.call(method, place)
            assert rpc.endpoints.all[0].failures == 1
        else:
            assert rpc.call(method, place) == read


@pytest.mark.parametrize(
    "answer",
    [
        None, True, 16, -1, 1.5, 1e400, 10**400, [], {}, "", "16", "0x", "0X10", "-0x1", "0x-1", "0x+1", " 0x1", "0x1 ",
        "0x1_0", "0x١", "0xg", "0x1.0", "0x1\n", hex(10**400), hex(2**256), "0x" + "0" * 65,
    ],
)  # fmt: skip
def test_quantity_no_chain_has_is_malformed(answer: object) -> None:
    for read in (quantity, block_number, block_time):
        with pytest.raises(ChainUnavailable):
            read(answer)


def test_quantity_is_bounded_by_what_it_counts() -> None:
    assert quantity(hex(2**256 - 1)) == 2**256 - 1
    assert quantity("0x0010") == 16
    assert block_number(hex(2**63 - 1)) == 2**63 - 1
    assert block_time(hex(253_402_300_799)) == 253_402_300_799
    for read, much in ((block_number, 2**63), (block_time, 253_402_300_800)):
        with pytest.raises(ChainUnavailable):
            read(hex(much))


@pytest.mark.parametrize(
    ("head", "limited", "retry_after"),
    [
        ("429 Too Many Requests\r\nRetry-After: 7", True, 7),
        ("429 Too Many Requests", True, None),
        ("429 Too Many Requests\r\nRetry-After: tomorrow", True, None),
        ("503 Service Unavailable\r\nRetry-After: 30", True, 30),
        ("503 Service Unavailable", False, None),
        ("200 OK", False, None),
    ],
)
def test_too_many_requests_are_known_by_status(head: str, *, limited: bool, retry_after: int | None) -> None:
    with raw_server(lambda: [whole(b"slow down", head)]) as server, pytest.raises(ChainUnavailable) as caught:
        Rpc([server.url]).call("eth_blockNumber")
    assert (caught.value.limited, caught.value.retry_after) == (limited, retry_after)
    assert "secret-key" not in str(caught.value)


def test_hanging_endpoint_alone_is_silent() -> None:
    with endpoint(b"no", status=400) as answering, node(hang=lambda _calls: True) as hanging:
        for url, silent in ((answering, False), ("http://127.0.0.1:9", False), (hanging.url, True)):
            with pytest.raises(ChainUnavailable) as caught:
                Rpc([url]).bounded(seconds=HANG_SECONDS).call("eth_blockNumber")
            assert caught.value.silent is silent


def test_unknown_name_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> None:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ChainUnavailable) as caught:
        Rpc(["https://no-such.example"]).call("eth_blockNumber")
    assert caught.value.cause == "its name cannot be resolved"


LIMITS = [
    (429, "Your app has exceeded its compute units per second capacity."),
    (429, ""),
    (-32005, "daily request count exceeded, request rate limited"),
    (-32005, "project ID request rate exceeded"),
    (-32007, "50/second request limit reached - reduce calls per second or upgrade your account"),
    (-32012, "credits limited to 6000/sec"),
    (-32097, "You've exceeded the RPS limit available on the current plan."),
    (-32016, "over rate limit"),
    (15, "Too many request, try again later"),
    (-32000, "monthly quota reached"),
]
NO_LIMITS = [
    (-32005, "Limit exceeded"),  # some say so of a range with too many logs
    (-32005, "query returned more than 10000 results"),
    (-32600, "Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range."),
    (-32602, "range 300 exceeds limit of 250"),
    (31, "Batch of more than 3 requests are not allowed on free tier"),
    (-32000, "insufficient funds for gas"),
    (-32601, "the method does not exist"),
    (3, "execution reverted: RateLimiter: too many requests per second"),
]


@pytest.mark.parametrize(("code", "message"), [*LIMITS, *NO_LIMITS], ids=lambda value: str(value)[:30])
def test_limit_and_refusal_are_told_apart(code: int, message: str) -> None:
    assert RpcRefused(code, message).is_limit is ((code, message) in LIMITS)
    assert not RpcRefused(code, message, b"\x08\xc3y\xa0").is_limit, "these are the contract's own words"


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were waited, in no time."""
    seconds = list[float]()
    monkeypatch.setattr(time, "sleep", seconds.append)
    return seconds


@contextmanager
def limiting(times: int, *, retry_after: str | None = None) -> Iterator[Server]:
    """An endpoint that refuses so many requests, by an error, or by a status with ``retry_after``; then it answers."""
    refused = as_json({"id": 0, "error": {"code": -32012, "message": "credits limited to 6000/sec"}})
    if retry_after is not None:
        refused = (429, b"slow down", {"Retry-After": retry_after})
    left = [times]

    def answer(_request: object) -> Reply:
        left[0] -= 1
        return refused if left[0] >= 0 else (200, GOOD, {})

    with Server(answer) as server:
        yield server


@pytest.mark.parametrize(
    ("times", "retry_after", "waits"),
    [
        (0, None, []),
        (1, None, [0.5]),
        (4, None, [0.5, 1.0, 2.0, 4.0]),
        (2, "3", [3, 3]),
        (1, "0", [0.5]),
    ],
)
def test_limiting_endpoint_is_asked_again(
    waited: list[float], times: int, retry_after: str | None, waits: list[float]
) -> None:
    with limiting(times, retry_after=retry_after) as server:
        rpc = Rpc([server.url], patient=True)
        assert rpc.call("eth_blockNumber") == "0x10"
        assert (waited, len(server.requests)) == (waits, times + 1)
        assert rpc.endpoints.all[0].failures == 0


@pytest.mark.parametrize(
    ("retry_after", "waits", "says"),
    [(None, list(LIMIT_WAITS), "try again in a minute"), ("30", [], "try again in 30 seconds")],
)
def test_limit_that_lasts_says_when_to_try_again(
    waited: list[float], retry_after: str | None, waits: list[float], says: str
) -> None:
    with limiting(100, retry_after=retry_after) as server:
        rpc = Rpc([server.url], patient=True)
        with pytest.raises(ChainUnavailable, match=says) as caught:
            rpc.call("eth_blockNumber")
    assert (caught.value.limited, waited) == (True, waits)
    assert rpc.endpoints.all[0].failures == 1, "it is one failure, however often it was asked"
    assert (caught.value.refusal is None) is (retry_after is not None)


def test_limit_is_not_waited_for_where_others_wait(waited: list[float]) -> None:
    with limiting(100) as server:
        for rpc in (Rpc([server.url]), Rpc([server.url], patient=True).bounded(seconds=3, max_answer_bytes=99)):
            with pytest.raises(ChainUnavailable, match="try again in a minute"):
                rpc.call("eth_blockNumber")
    assert (waited, len(server.requests)) == ([], 2)


def test_slow_limit_is_waited_for_15_seconds(waited: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    by_the_clock = time.monotonic
    with limiting(100) as server:
        monkeypatch.setattr(time, "monotonic", lambda: by_the_clock() + 8 * len(server.requests))
        with pytest.raises(ChainUnavailable):
            Rpc([server.url], patient=True).call("eth_blockNumber")
    assert (waited, len(server.requests)) == ([0.5], 2)


def test_limit_is_passed_over_if_another_answers(
    waited: list[float],
) -> None:
    with limiting(1) as limited, endpoint(GOOD) as good:
        assert Rpc([limited.url, good], patient=True).call("eth_blockNumber") == "0x10"
        assert waited == []
    with limiting(2) as limited, raw_server(lambda: [whole(b"", "503 Service Unavailable")]) as down:
        assert Rpc([down.url, limited.url], patient=True).call("eth_blockNumber") == "0x10"
        assert waited == [0.5, 1.0]


def cut(begins: bytes) -> Iterator[bytes]:
    """The beginning of an answer, and the connection ends."""
    yield begins
    raise ConnectionError


@pytest.mark.parametrize(
    "hiccup",
    [
        lambda: [whole(b"", "502 Bad Gateway")],
        lambda: [whole(b"")],
        lambda: cut(whole(GOOD)[:-1]),
        lambda: cut(b""),
    ],
    ids=["status", "without a body", "cut", "empty"],
)
def test_hiccup_of_the_only_endpoint_is_waited_out(waited: list[float], hiccup: Callable[[], Iterable[bytes]]) -> None:
    answers = [lambda: [whole(GOOD)], hiccup, hiccup]

    def answer() -> Iterable[bytes]:
        return answers.pop()()

    with raw_server(answer) as server:
        rpc = Rpc([server.url], patient=True)
        assert rpc.call("eth_sendRawTransaction", "0xaa") == "0x10"
    assert (waited, answers, rpc.endpoints.all[0].failures) == ([0.5, 1.0], [], 0)


def test_outage_is_not_waited_for_as_a_limit_is(waited: list[float]) -> None:
    with raw_server(lambda: [whole(b"", "521 Down")]) as server:
        for rpc, waits in ((Rpc([server.url]), []), (Rpc([server.url], patient=True), [0.5, 1.0])):
            with pytest.raises(ChainUnavailable) as caught:
                rpc.call("eth_blockNumber")
            assert (caught.value.limited, waited) == (False, waits)


TOO_MANY = {"code": 31, "message": "Batch of more than 3 requests are not allowed on free tier"}
LIMITED = {"code": -32007, "message": "50/second request limit reached"}


def each_refused(calls: Calls, error: dict[str, object]) -> Reply:
    return as_json([{"id": call["id"], "error": error} for call in calls])


SIZE_REFUSALS: dict[str, Callable[[Calls], Reply]] = {
    "one error": lambda _calls: as_json({"id": None, "error": TOO_MANY}),
    "an error each": lambda calls: each_refused(calls, TOO_MANY),
    "a limit by text": lambda calls: each_refused(calls, LIMITED),
    "a page": lambda _calls: (400, b"<html>bad request</html>", {}),
    "413": lambda _calls: as_json({"error": "too large"}, 413),
    "429": lambda _calls: as_json({"error": "rate limit"}, 429),
    "502": lambda _calls: (502, b"", {}),
    "524": lambda _calls: (524, b"<html>a timeout occurred</html>", {}),
}


def numbered(count: int) -> list[Call]:
    return [("eth_call", [hex(i)]) for i in range(count)]


@pytest.mark.parametrize("most", [1, 10])
@pytest.mark.parametrize("reply", SIZE_REFUSALS.values(), ids=SIZE_REFUSALS)
def test_refused_batch_is_split_from_then_on(reply: Callable[[Calls], Reply], most: int) -> None:
    with node(refuse=lambda calls: reply(calls) if len(calls) > most else None) as small:
        rpc = Rpc([small.url])
        assert rpc.batch(numbered(12)) == [hex(i) for i in range(12)]
        small.sent.clear()
        assert rpc.batch(numbered(4)) == [hex(i) for i in range(4)]
    assert max(small.sent) <= most


def test_batch_of_an_outage_costs_two_requests() -> None:
    with node(refuse=lambda _calls: (503, b"", {})) as down, pytest.raises(ChainUnavailable):
        Rpc([down.url]).batch(numbered(25))
    assert down.sent == [25, 1]


def test_batch_refused_call_by_call_is_not_split() -> None:
    with node(lambda _method, _params: Refusal(-32000, "missing trie node")) as pruned:
        rpc = Rpc([pruned.url])
        assert [type(each) for each in rpc.batch(numbered(25))] == [RpcRefused] * 25
    assert (pruned.sent, rpc.endpoints.all[0].calls.size) == ([25, 1], MOST_CALLS)


def test_batches_grow_again_after_many_answers() -> None:
    most = [3]
    with node(refuse=lambda calls: (413, b"", {}) if len(calls) > most[0] else None) as small:
        rpc = Rpc([small.url])
        rpc.batch(numbered(4))
        most[0] = 100
        for _ in range(LARGER_AFTER):
            rpc.batch(numbered(2))
        small.sent.clear()
        rpc.batch(numbered(4))
    assert small.sent == [4]


def test_endpoint_hanging_at_batches_gets_calls() -> None:
    with node(hang=lambda calls: len(calls) > 1) as slow:
        rpc = Rpc([slow.url]).bounded(seconds=HANG_SECONDS)
        with pytest.raises(ChainUnavailable):
            rpc.batch(numbered(3))
        assert rpc.batch(numbered(3)) == ["0x0", "0x1", "0x2"]
    assert slow.sent == [3, 1, 1, 1]


def test_batch_limited_halfway_goes_on(waited: list[float]) -> None:
    made = list[ScriptedNode]()

    def refuse(_calls: Calls) -> Reply | None:
        return None if len(made[0].sent) % 2 else (429, b"", {"Retry-After": "1"})

    with node(refuse=refuse) as limited:
        made.append(limited)
        rpc = Rpc([limited.url], patient=True)
        rpc.endpoints.all[0].calls.size = 2
        assert rpc.batch(numbered(20)) == [hex(i) for i in range(20)]
    assert waited == [1] * 9, "more often than one request is sent again"


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504, *range(520, 531)])
def test_endpoint_or_cdn_that_is_down_is_passed_over(status: int) -> None:
    with endpoint(GOOD, status=status) as down, endpoint(GOOD) as good:
        rpc = Rpc([down, good])
        assert rpc.call("eth_blockNumber") == "0x10"
        assert rpc.endpoints.preferred.place == 2


HUB = Address(str(LOG["address"]))


def logged(number: int, index: int = 0) -> dict[str, object]:
    return LOG | {"blockNumber": hex(number), "logIndex": hex(index)}


def bounds_of(params: list[Any]) -> tuple[int, int]:
    return int(params[0]["fromBlock"], 16), int(params[0]["toBlock"], 16)


NO_RANGE = Refusal(0, "")


@dataclass
class LoggingNode:
    """Answers ranges with the logs of each third block, and refuses those of more than ``most`` blocks."""

    most: int = 10_000
    refusal: Refusal = NO_RANGE
    logs_in_block: int = 1
    head: int = 10_000
    lengths: list[int] = field(default_factory=list)

    def __call__(self, _method: str, params: list[Any]) -> object:
        first, last = bounds_of(params)
        self.lengths.append(last - first + 1)
        if last - first >= self.most:
            return self.refusal
        if last > self.head:
            return Refusal(-32000, "invalid block range params")
        return [logged(at, i) for at in range(first, last + 1) if at % 3 == 0 for i in range(self.logs_in_block)]


def read_range(rpc: Rpc, first: int, last: int) -> tuple[list[int], int]:
    def ask(one: OneEndpoint) -> tuple[list[int], int]:
        logs, covered = logs_of_range(one, HUB, None, BlockNumber(first), BlockNumber(last))
        return [entry.block_number for entry in logs], covered

    return rpc.agreed(ask, 1)


RANGE_REFUSALS = [
    Refusal(-32602, "range 300 exceeds limit of 250"),
    Refusal(-32600, "you can make eth_getLogs requests with up to a 10 block range."),
    Refusal(-32005, "query returned more than 10000 results"),
    Refusal(-32005, "range exceeds the quota of this plan"),
    Refusal(-32000, "block range is too large"),
]


@pytest.mark.parametrize("most", [1, 5, 50])
@pytest.mark.parametrize("refusal", RANGE_REFUSALS, ids=lambda each: each.message[:20])
def test_refused_range_of_logs_is_read_in_parts(waited: list[float], refusal: Refusal, most: int) -> None:
    script = LoggingNode(most, refusal)
    with node(script) as short:
        rpc = Rpc([short.url], patient=True)
        for _ in range(2):
            script.lengths.clear()
            assert read_range(rpc, 10, 99) == (list(range(12, 100, 3)), 99)
    refused = sum(length > most for length in script.lengths)
    assert refused <= (len(script.lengths) / LARGER_AFTER + 1) * (1 + len(LIMIT_WAITS)), "what it takes is remembered"


@pytest.mark.parametrize("status", [400, 413, 502, 520, 524])
def test_range_too_large_for_a_gateway_is_split(status: int) -> None:
    def refuse(calls: Calls) -> Reply | None:
        first, last = bounds_of(calls[0]["params"])
        return (status, b"<html>", {}) if last - first > 20 else None

    with node(LoggingNode(), refuse) as behind:
        assert read_range(Rpc([behind.url]), 10, 99) == (list(range(12, 100, 3)), 99)


def test_ranges_of_logs_grow_again() -> None:
    script = LoggingNode(2, Refusal(-32005, "query returned more than 10000 results"))
    with node(script) as dense:
        rpc = Rpc([dense.url])
        read_range(rpc, 10, 19)
        script.most, before = 10_000, rpc.endpoints.all[0].blocks.size
        for _ in range(LARGER_AFTER):
            read_range(rpc, 10, 9 + before)
        assert rpc.endpoints.all[0].blocks.size == 2 * before


@pytest.mark.parametrize("hangs", [True, False])
def test_range_is_shorter_after_silence_but_no_limit(waited: list[float], hangs: bool) -> None:
    with node(refuse=lambda _calls: (429, b"", {"Retry-After": "99"}), hang=lambda _calls: hangs) as slow:
        rpc = Rpc([slow.url]).bounded(seconds=HANG_SECONDS, patient=True)
        before = rpc.endpoints.all[0].blocks.size
        with pytest.raises(ChainUnavailable):
            read_range(rpc, 10, 9 + before)
    assert rpc.endpoints.all[0].blocks.size == (before // 2 if hangs else before)
    assert (len(slow.sent), waited) == (1, [])


def test_range_above_a_lagging_head_is_unavailable() -> None:
    with node(LoggingNode(head=50)) as lagging:
        rpc = Rpc([lagging.url])
        before = rpc.endpoints.all[0].blocks.size
        with pytest.raises(ChainUnavailable):
            read_range(rpc, 40, 52)
        assert rpc.endpoints.all[0].blocks.size == before, "it was not the length"
        assert read_range(rpc, 40, 50) == ([42, 45, 48], 50)


def test_block_that_an_endpoint_lacks_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    script = LoggingNode(head=50)
    with node(script) as lagging:
        monkeypatch.setattr(time, "sleep", lambda _seconds: setattr(script, "head", script.head + 1))
        assert read_range(Rpc([lagging.url], patient=True), 40, 52) == ([42, 45, 48, 51], 52)


def test_range_of_many_logs_ends_alike_everywhere() -> None:
    refusal = Refusal(-32005, "query returned more than 10000 results")
    with node(LoggingNode(logs_in_block=300)) as wide, node(LoggingNode(4, refusal, logs_in_block=300)) as narrow:
        (blocks, covered), other = (read_range(Rpc([each.url]), 1, 90) for each in (wide, narrow))
    assert (blocks, covered) == other
    assert (len(blocks), covered) == (2_100, 21), f"with log {ENOUGH_LOGS} its whole block"


@pytest.mark.parametrize(
    "logs",
    [
        [logged(5) | {"address": "0x" + "43" * 20}],
        [logged(4)],
        [logged(11)],
        [logged(6), logged(5)],
        [logged(5, 1), logged(5, 0)],
        [logged(5), logged(5)],
    ],
    ids=["another contract", "before", "after", "blocks out of order", "logs out of order", "twice"],
)
def test_logs_that_nobody_requested_are_no_answer(logs: list[dict[str, object]]) -> None:
    with node(lambda _method, _params: logs) as wrong, node(lambda _method, _params: [logged(7)]) as right:
        with pytest.raises(ChainUnavailable):
            read_range(Rpc([wrong.url]), 5, 10)
        assert read_range(Rpc([wrong.url, right.url]), 5, 10) == ([7], 10)


FAILS, LACKS = "fails", None
"""How an endpoint may have no vote."""


def said(answer: str | None, _method: str, _params: list[Any]) -> object:
    return Refusal(-32000, "header not found") if answer == FAILS else answer


@contextmanager
def several(*answers: str | None) -> Iterator[Rpc]:
    """Endpoints, each of which always answers the same."""
    with ExitStack() as stack:
        yield Rpc([stack.enter_context(node(partial(said, each))).url for each in answers])


def opinion(one: OneEndpoint) -> str:
    answer = one.call("eth_call")
    if not isinstance(answer, str):
        raise ChainUnavailable("null")
    return answer


@pytest.mark.parametrize(
    ("answers", "quorum", "agreed", "outvoted"),
    [
        (["a", "b", "b"], 1, "a", []),
        ([FAILS, LACKS, "b"], 1, "b", []),
        (["a", "a", "b"], 2, "a", []),
        (["a", "b", "b"], 2, "b", [1]),
        (["a", "b", "a"], 2, "a", [2]),
        (["a", FAILS, "a"], 2, "a", []),
        ([LACKS, "a", "a"], 2, "a", []),
        (["a", "b", "c", "c"], 2, "c", [1, 2]),
        (["a", "b"], 2, "1 of 2 RPC endpoints agree, but 2 must", []),
        (["a", LACKS, FAILS], 2, "1 of 3 RPC endpoints agree, but 2 must", []),
        (["a", "a", "b"], 3, "2 of 3 RPC endpoints agree, but 3 must", []),
        ([FAILS, LACKS], 1, "none of 2 RPC endpoints gave a usable answer", []),
    ],
)
def test_agreement_of_endpoints(answers: list[str], quorum: int, agreed: str, outvoted: list[int]) -> None:
    with several(*answers) as rpc:
        if len(agreed) == 1:
            assert rpc.agreed(opinion, quorum) == agreed
        else:
            with pytest.raises(ChainUnavailable, match=agreed):
                rpc.agreed(opinion, quorum)
        assert [each.place for each in rpc.endpoints.all if each.contradictions] == outvoted
        assert {each.place for each in rpc.endpoints.in_order()[len(answers) - len(outvoted) :]} == set(outvoted)


def test_contradiction_is_logged_once_for_each_rest(caplog: pytest.LogCaptureFixture) -> None:
    with several("a", "b", "b") as rpc:
        for _ in range(2):  # the last one rests longest, so that the first one is asked before it again
            rpc.endpoints.all[2].failures = 9
            for each in rpc.endpoints.all[1:]:
                each.rests_until = math.inf
            assert rpc.agreed(opinion, 2) == "b"
    assert rpc.endpoints.all[0].contradictions == 2
    assert caplog.messages == ["RPC endpoint 1 contradicts 2 others"]


def test_block_that_an_endpoint_lacks_is_no_vote() -> None:
    with node(lambda _method, _params: None) as behind, node(lambda _method, _params: BLOCK) as ahead:
        rpc = Rpc([behind.url, ahead.url, ahead.url])
        assert rpc.agreed(lambda one: header_at(one, BlockNumber(1)), 2).number == 1
        assert rpc.endpoints.all[0].contradictions == 0


def test_endpoint_that_hangs_delays_agreement_once() -> None:
    with node(hang=lambda _calls: True) as hanging, node() as good:
        rpc = Rpc([hanging.url, good.url, good.url]).bounded(seconds=HANG_SECONDS)
        for _ in range(3):
            assert rpc.agreed(opinion, 2) == "0x10"
            rpc.endpoints.all[0].rests_until = 0.0  # also once it has rested
    assert len(hanging.sent) == 1


def test_endpoints_that_answer_are_asked_each() -> None:
    with several("a", LACKS, "b") as rpc, endpoint(b"", status=502) as down:
        urls = [each.url for each in rpc.endpoints.all]
        assert Rpc([down, *urls]).of_each([("eth_call", [])] * 2) == [["a", "a"], [None, None], ["b", "b"]]
