"""Endpoints that fail, lie or refuse."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from bounty_protocol.chain.json_rpc import (
    LIMIT_WAITS,
    ChainUnavailable,
    JsonRpc,
    RpcRefused,
    block_number,
    block_time,
    quantity,
)
from bounty_protocol.chain.rpc_answers import PLAIN_BYTES

from tests.cli.servers import Reply, Server, as_json
from tests.raw_server import raw_server, whole
from tests.serving import serving


@contextmanager
def endpoint(body: bytes, status: int = 200) -> Iterator[str]:
    """A server that always answers this."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with serving(server):
        yield f"http://127.0.0.1:{server.server_port}/v1/secret-key"


GOOD = json.dumps({"jsonrpc": "2.0", "id": 0, "result": "0x10"}).encode()
BAD = [b"", b"<html>", b"[]", b'{"id":0}', b'{"id":7,"result":"0x1"}', b"null", b'{"id":0,"error":"text"}']
BAD += [b'{"id":0,"error":{"code":1e999}}', b'{"id":0,"error":{"code":NaN}}', b'{"id":0,"error":{"code":{}}}']


@pytest.mark.parametrize("body", BAD)
def test_endpoint__with_a_malformed_answer__is_passed_over(body: bytes) -> None:
    with endpoint(body) as bad, endpoint(GOOD) as good:
        assert quantity(JsonRpc([bad, good]).call("eth_blockNumber")) == 16
        with pytest.raises(ChainUnavailable) as caught:
            JsonRpc([bad]).call("eth_blockNumber")
    assert "secret-key" not in str(caught.value)


def test_endpoint__that_is_down__is_passed_over_and_the_next_one_remembered() -> None:
    with endpoint(GOOD) as good:
        rpc = JsonRpc(["http://127.0.0.1:9", good])
        assert rpc.call("eth_blockNumber") == "0x10"
        assert rpc.endpoints.preferred.place == 2


def test_refusal__of_an_endpoint__carries_revert_data_and_is_not_retried() -> None:
    body = json.dumps({"id": 0, "error": {"code": 3, "message": "reverted", "data": "0xdeadbeef"}}).encode()
    with endpoint(body) as url, pytest.raises(RpcRefused) as caught:
        JsonRpc([url]).call("eth_call")
    assert caught.value.data == bytes.fromhex("deadbeef")


@pytest.mark.parametrize("at_once", [1, len(whole(b""))], ids=["head and body", "body"])
def test_endpoint__whose_answer_drips__is_passed_over(at_once: int) -> None:
    answer = whole(GOOD + b" " * 60)

    def pieces() -> Iterator[bytes]:
        yield answer[:at_once]
        yield from (answer[at : at + 1] for at in range(at_once, len(answer)))

    with raw_server(pieces, pause=0.05) as slow, endpoint(GOOD) as good:
        rpc = JsonRpc([slow.url, good]).bounded(seconds=1.5, max_answer_bytes=1_000)
        assert rpc.call("eth_blockNumber") == "0x10"
        assert rpc.endpoints.preferred.place == 2
        with pytest.raises(ChainUnavailable) as caught:
            JsonRpc([slow.url]).bounded(seconds=1.5, max_answer_bytes=1_000).call("eth_blockNumber")
    assert caught.value.cause == "nothing came in time"
    assert "secret-key" not in str(caught.value)


def test_connection__of_whole_answers__is_kept_and_that_of_one_too_large_is_not() -> None:
    with raw_server(lambda: [whole(GOOD)]) as sound:
        rpc = JsonRpc([sound.url])
        assert [rpc.call("eth_blockNumber") for _ in range(3)] == ["0x10"] * 3
        assert sound.connections == 1
        narrow = rpc.bounded(seconds=5.0, max_answer_bytes=10)
        for _ in range(2):
            with pytest.raises(ChainUnavailable) as caught:
                narrow.call("eth_blockNumber")
            assert caught.value.cause == "an answer of more than 10 bytes"


def test_client__once_it_is_made__loads_nothing_more_for_an_answer() -> None:
    program = (
        "import sys; from bounty_protocol.chain.json_rpc import JsonRpc; rpc = JsonRpc([sys.argv[1]]);"
        "before = set(sys.modules); rpc.call('eth_getLogs', {'blockHash': '0x'});"
        "print([name for name in set(sys.modules) - before if 'msgspec' in name or 'bounty_protocol' in name])"
    )
    with endpoint(json.dumps({"id": 0, "result": []}).encode()) as url:
        ran = subprocess.run([sys.executable, "-c", program, url], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"  # a worker that forks meanwhile would wait for it for ever


LOG = {
    "address": "0x" + "42" * 20,
    "topics": ["0x" + "11" * 32] * 4,
    "data": "0x" + "00" * 64,
    "blockNumber": "0x1",
    "blockHash": "0x" + "22" * 32,
    "transactionHash": "0x" + "33" * 32,
    "logIndex": "0x0",
}
BLOCK = {"number": "0x1", "hash": "0x" + "22" * 32, "parentHash": "0x" + "11" * 32, "timestamp": "0x2"}
BUSY = BLOCK | {"transactions": ["0x" + "44" * 32] * 12_000}
RECEIPT = {"cumulativeGasUsed": "0x5208", "logsBloom": "0x" + "00" * 256, "type": "0x7e", "depositNonce": "0x1"}
LOG_OF_RECEIPT = {name: LOG[name] for name in ("address", "topics", "data")}
LONG_LOG = LOG_OF_RECEIPT | {"data": "0x" + "00" * PLAIN_BYTES}
RANGE = {"fromBlock": "0x1", "toBlock": "0x2"}


@pytest.mark.attack
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
        (
            "eth_getBlockReceipts",
            {},
            [RECEIPT | {"logs": [LOG]}] * 3_000,
            [RECEIPT | {"logs": [LOG_OF_RECEIPT]}] * 3_000,
        ),
        ("eth_getBlockReceipts", {}, [RECEIPT | {"logs": [LONG_LOG]}], [RECEIPT | {"logs": [LONG_LOG]}]),
        ("eth_getBlockReceipts", {}, None, None),
        ("eth_getBlockReceipts", {}, [RECEIPT], "refused"),
        ("eth_getBlockReceipts", {}, [RECEIPT | {"logs": [{"topics": []}]}], "refused"),
        ("eth_getBlockReceipts", {}, [RECEIPT | {"logs": []}] * 60_000, "refused"),
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
def test_answer__by_its_method__is_read_as_what_it_is_or_refused(
    method: str, place: dict[str, str], result: object, read: object
) -> None:
    refused = read == "refused" or (read is None and result is not None)
    with endpoint(json.dumps({"id": 0, "result": result}).encode()) as url:
        rpc = JsonRpc([url])
        if refused:
            with pytest.raises(ChainUnavailable):
                rpc.call(method, place)
            assert rpc.endpoints.all[0].failures == 1
        else:
            assert rpc.call(method, place) == read


@pytest.mark.attack
@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0x0", 0),
        ("0x" + "f" * 64, 2**256 - 1),
        ("0x1" + "0" * 64, None),
        ("0x" + "1" * 400, None),
        ("0x", None),
        ("0x1_0", None),
        ("0x 1", None),
        ("-0x1", None),
        (16, None),
    ],
)
def test_quantity__of_more_than_a_word__is_none(text: object, number: int | None) -> None:
    if number is None:
        with pytest.raises(ChainUnavailable):
            quantity(text)
    else:
        assert quantity(text) == number


@pytest.mark.attack
@pytest.mark.parametrize(
    "answer",
    [
        None, True, 16, -1, 1.5, 1e400, 10**400, [], {}, "", "16", "0x", "0X10", "-0x1", "0x-1", "0x+1", " 0x1", "0x1 ",
        "0x1_0", "0x١", "0xg", "0x1.0", "0x1\n", hex(10**400), hex(2**256), "0x" + "0" * 65,
    ],
)  # fmt: skip
def test_quantity_that_no_chain_has_is_a_malformed_answer(answer: object) -> None:
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
def test_endpoint__that_is_queried_too_often__is_known_by_it(
    head: str, *, limited: bool, retry_after: int | None
) -> None:
    with raw_server(lambda: [whole(b"slow down", head)]) as server, pytest.raises(ChainUnavailable) as caught:
        JsonRpc([server.url]).call("eth_blockNumber")
    assert (caught.value.limited, caught.value.retry_after) == (limited, retry_after)
    assert "secret-key" not in str(caught.value)


def test_endpoint__that_is_down__is_silent_and_one_that_answers_is_not() -> None:
    with endpoint(b"no", status=400) as answering:
        for url, silent in ((answering, False), ("http://127.0.0.1:9", True)):
            with pytest.raises(ChainUnavailable) as caught:
                JsonRpc([url]).call("eth_blockNumber")
            assert caught.value.silent is silent


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
def test_error__of_an_endpoint__is_a_limit_of_requests_or_a_refusal_of_the_call(code: int, message: str) -> None:
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

    server = Server(answer)
    yield server
    server.close()


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
def test_endpoint__that_limits_requests__is_asked_again(
    waited: list[float], times: int, retry_after: str | None, waits: list[float]
) -> None:
    with limiting(times, retry_after=retry_after) as server:
        rpc = JsonRpc([server.url], patient=True)
        assert rpc.call("eth_blockNumber") == "0x10"
        assert (waited, len(server.requests)) == (waits, times + 1)
        assert rpc.endpoints.all[0].failures == 0


@pytest.mark.parametrize(
    ("retry_after", "waits", "says"),
    [(None, list(LIMIT_WAITS), "try again in a minute"), ("30", [], "try again in 30 seconds")],
)
def test_endpoint__that_limits_requests_for_longer__fails_and_says_when_to_try_again(
    waited: list[float], retry_after: str | None, waits: list[float], says: str
) -> None:
    with limiting(100, retry_after=retry_after) as server:
        rpc = JsonRpc([server.url], patient=True)
        with pytest.raises(ChainUnavailable, match=says) as caught:
            rpc.call("eth_blockNumber")
    assert (caught.value.limited, waited) == (True, waits)
    assert rpc.endpoints.all[0].failures == 1, "it is one failure, however often it was asked"
    assert (caught.value.refusal is None) is (retry_after is not None)


def test_endpoint__that_limits_requests__is_not_waited_for_where_others_wait_meanwhile(waited: list[float]) -> None:
    with limiting(100) as server:
        for rpc in (JsonRpc([server.url]), JsonRpc([server.url], patient=True).bounded(seconds=3, max_answer_bytes=99)):
            with pytest.raises(ChainUnavailable, match="try again in a minute"):
                rpc.call("eth_blockNumber")
    assert (waited, len(server.requests)) == ([], 2)


def test_endpoint__that_limits_requests_slowly__is_waited_for_no_longer_than_fifteen_seconds(
    waited: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    by_the_clock = time.monotonic
    with limiting(100) as server:
        monkeypatch.setattr(time, "monotonic", lambda: by_the_clock() + 8 * len(server.requests))
        with pytest.raises(ChainUnavailable):
            JsonRpc([server.url], patient=True).call("eth_blockNumber")
    assert (waited, len(server.requests)) == ([0.5], 2)


def test_endpoint__that_limits_requests__is_passed_over_and_of_those_that_fail_it_alone_is_asked_again(
    waited: list[float],
) -> None:
    with limiting(1) as limited, endpoint(GOOD) as good:
        assert JsonRpc([limited.url, good], patient=True).call("eth_blockNumber") == "0x10"
        assert waited == []
    with limiting(2) as limited, raw_server(lambda: [whole(b"", "503 Service Unavailable")]) as down:
        assert JsonRpc([down.url, limited.url], patient=True).call("eth_blockNumber") == "0x10"
        assert (down.connections, waited) == (1, [0.5, 1.0])


def test_attempt__at_an_endpoint_that_limits_requests__waits_for_nothing(waited: list[float]) -> None:
    with limiting(1) as server, pytest.raises(ChainUnavailable) as caught:
        JsonRpc([server.url], patient=True).attempt([("eth_blockNumber", [])])
    assert (caught.value.limited, waited) == (True, [])
