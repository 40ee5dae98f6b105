"""Requests to a node and to an API that may be hostile: bounded in time and in bytes, without redirects."""

import http.client
import io
import json
import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import urlsplit

import urllib3

READ_SECONDS: Final = 20.0
"""For the next bytes of an answer."""
TIMEOUT: Final = urllib3.Timeout(connect=5.0, read=READ_SECONDS)
MAX_BYTES: Final = 32 << 20
MAX_FRAMING: Final = 1 << 20
"""Bytes of an answer beside its body: its head, and what frames its chunks."""
MAX_SECONDS: Final = 60.0
"""For one answer, however slowly its bytes come."""
MAX_PART_BYTES: Final = 128 << 20
"""Of all answers that make one list: what is held in memory at a time."""
MAX_CHECK_BYTES: Final = 2 << 30
"""Of all answers of one host in one check: what nobody holds costs its traffic."""
PATIENCE_SECONDS: Final = 60.0
"""For how long an answer of 429 or 503 is asked again."""
MIN_KEY: Final = 8
"""Characters: shorter parts of an address are words, and no key."""
MAX_SILENT: Final = 5
"""Requests in a row that an API or its pages leave unanswered, busy ones included, after which they are asked no more
until the answers are read anew."""
MAX_SILENT_SECONDS: Final = 100.0
"""Waited for a host in a row for nothing, after which it is asked no more: one that hangs costs minutes.

One that refuses at once costs none, and a node that cuts long answers has to be asked for shorter ones."""


MALFORMED: Final = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""What reading a value of another shape than documented raises."""


class Unread(Exception):
    """Something did not answer, or not in a form that can be read; ``received`` is how many bytes it sent meanwhile."""

    def __init__(self, text: str, received: int = 0) -> None:
        super().__init__(text)
        self.received = received


class NodeRefusal(Unread):
    """The node answers with an error: what it does not keep, or does not give."""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """An answer of HTTP: the status, its fields in lower case, and its bytes."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    received: int = 0
    """Bytes that came for it, its head and the framing of its chunks included."""

    def json(self) -> Any:
        """The value, of which nothing is known yet."""
        try:
            return json.loads(self.body, object_pairs_hook=_once_each, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise Unread(f"an answer that is no JSON: {error}") from None


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object: of two values with one name, each reader would take the one it likes."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object with a name twice")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} in the place of a number")


Exchange = Callable[[str, str, bytes | None, Mapping[str, str]], HttpReply]
"""Method, address, body and fields of a request; raises ``Unread``."""


class BoundedStream(io.RawIOBase):
    """What comes over a connection for one answer: for ``MAX_SECONDS``, and no more bytes than an answer may have.

    The head and the framing of chunks are read through it, too: a line that drips or never ends is given up.
    """

    def __init__(
        self,
        connection: socket.socket,
        received: io.RawIOBase,
        clock: Callable[[], float] = time.monotonic,
        count: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._connection, self._received, self._clock, self._count = connection, received, clock, count
        self._ends, self._left = clock() + MAX_SECONDS, MAX_BYTES + MAX_FRAMING

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        seconds = self._ends - self._clock()
        if seconds <= 0:
            raise TimeoutError(f"an answer that takes more than {MAX_SECONDS:.0f} seconds")
        if self._left <= 0:
            raise OSError(f"an answer of more than {MAX_BYTES} bytes")
        self._connection.settimeout(min(seconds, READ_SECONDS))
        count = self._received.readinto(memoryview(buffer)[: self._left])
        self._left -= count or 0
        self._count(count or 0)
        return count

    def close(self) -> None:
        self._received.close()
        super().close()


def _bounded_pool(count: Callable[[int], None]) -> urllib3.PoolManager:
    """Connections whose answers are bounded; ``count`` gets the number of bytes of each piece that comes."""

    class _Response(http.client.HTTPResponse):
        def __init__(self, sock: socket.socket, *arguments: Any, **named: Any) -> None:
            super().__init__(sock, *arguments, **named)
            self.fp = io.BufferedReader(BoundedStream(sock, self.fp.detach(), count=count))

    class _PlainConnection(urllib3.connection.HTTPConnection):
        response_class = _Response

    class _SecureConnection(urllib3.connection.HTTPSConnection):
        response_class = _Response

    class _PlainPool(urllib3.HTTPConnectionPool):
        ConnectionCls = _PlainConnection

    class _SecurePool(urllib3.HTTPSConnectionPool):
        ConnectionCls = _SecureConnection

    pool = urllib3.PoolManager(retries=False, timeout=TIMEOUT)
    pool.pool_classes_by_scheme = {"http": _PlainPool, "https": _SecurePool}
    return pool


class Http:
    """The real exchange."""

    def __init__(self, pool: urllib3.PoolManager | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._received = 0
        self._pool, self._clock = pool or _bounded_pool(self._count), clock

    def _count(self, received: int) -> None:
        self._received += received

    def __call__(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> HttpReply:
        before = self._received
        try:
            found = self._ask(method, url, body, headers)
        except Unread as error:
            raise Unread(str(error), self._received - before) from None
        return replace(found, received=self._received - before)

    def _ask(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> HttpReply:
        try:
            answer = self._pool.request(
                method, url, body=body, headers=dict(headers), redirect=False, preload_content=False
            )
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise Unread(f"{host_of(url)} did not answer: {type(error).__name__}") from None
        try:
            if answer.headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
                # Nobody asked for it, and a few of its bytes can stand for very many.
                raise Unread(f"{host_of(url)} answers in an encoding")
            return HttpReply(
                answer.status, {key.lower(): value for key, value in answer.headers.items()}, _read(answer, self._clock)
            )
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise Unread(f"{host_of(url)} ended in the middle: {type(error).__name__}") from None
        finally:
            with suppress(OSError):
                answer.close()


@dataclass(slots=True)
class BoundedExchange:
    """An exchange for one check: after its time nothing more is asked, and no host that is silent or sends too much."""

    exchange: Exchange
    seconds: float
    clock: Callable[[], float] = time.monotonic
    ends: float = field(init=False)
    received: Counter[str] = field(default_factory=Counter)
    """Bytes of the answers so far, by host."""
    silent: dict[str, float] = field(default_factory=dict)
    """Seconds that were waited in a row for nothing, by host and port."""

    def __post_init__(self) -> None:
        self.ends = self.clock() + self.seconds

    def __call__(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> HttpReply:
        if self.clock() >= self.ends:
            raise Unread(f"not asked: this check has taken {self.seconds:.0f} seconds")
        host = host_of(url)
        if self.received[host] >= MAX_CHECK_BYTES:
            raise Unread(f"not asked: {host} has sent more than {MAX_CHECK_BYTES >> 20} MiB in this check")
        place = _place_of(url)
        if self.silent.get(place, 0.0) >= MAX_SILENT_SECONDS:
            raise Unread(f"not asked: {host} has not answered for {MAX_SILENT_SECONDS:.0f} seconds")
        began = self.clock()
        try:
            found = self.exchange(method, url, body, headers)
        except Unread as error:
            self.received[host] += error.received
            self.silent[place] = self.silent.get(place, 0.0) + self.clock() - began
            raise
        self.silent.pop(place, None)
        self.received[host] += max(found.received, len(found.body))
        return found


def host_of(url: str) -> str:
    """Scheme and host of an address: what else it has often is a key."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "the address"
    return f"{parts.scheme}://{parts.hostname}" if parts.hostname else "the address"


def _place_of(url: str) -> str:
    """Host and port, apart from which nothing is reached: one machine may have both the node and the API."""
    with suppress(ValueError):
        return urlsplit(url).netloc
    return url


def without_key(text: str, url: str) -> str:
    """What an endpoint says, without the parts of its address that may be a key."""
    for part in re.split(r"[/?&=#:@]", url.removeprefix(host_of(url))):
        if len(part) >= MIN_KEY:
            text = text.replace(part, "…")
    return text


def _read(answer: urllib3.BaseHTTPResponse, clock: Callable[[], float]) -> bytes:
    """The body; ``read1`` returns what has come, so that a body that drips is given up at its time."""
    parts, length, ends = list[bytes](), 0, clock() + MAX_SECONDS
    while part := answer.read1(1 << 16, decode_content=False):
        parts.append(part)
        length += len(part)
        if length > MAX_BYTES:
            raise Unread(f"an answer of more than {MAX_BYTES} bytes")
        if clock() > ends:
            raise Unread(f"an answer that takes more than {MAX_SECONDS:.0f} seconds")
    return b"".join(parts)


@contextmanager
def readable(what: str) -> Iterator[None]:
    """``Unread`` where it is of another shape than documented."""
    try:
        yield
    except MALFORMED as error:
        raise Unread(f"{what} cannot be read: {type(error).__name__}") from None


def quantity(value: object) -> int:
    """A number as JSON-RPC writes it; ``ValueError`` for anything else."""
    if not isinstance(value, str) or not re.fullmatch("0x[0-9a-fA-F]{1,64}", value):
        raise ValueError("no number")
    return int(value, 16)


def octets(value: object, length: int | None = None) -> bytes:
    """Bytes as JSON-RPC writes them, so many of them where that is known; ``ValueError`` for anything else."""
    if not isinstance(value, str) or not re.fullmatch("0x[0-9a-fA-F]*", value):
        raise ValueError("no bytes")
    found = bytes.fromhex(value[2:])
    if length is not None and len(found) != length:
        raise ValueError(f"{len(found)} bytes in the place of {length}")
    return found


def hexadecimal(value: object, length: int) -> str:
    """So many bytes in lower case; ``ValueError`` for anything else."""
    return "0x" + octets(value, length).hex()


@dataclass(slots=True)
class Node:
    """JSON-RPC of the chain."""

    url: str
    exchange: Exchange = field(default_factory=Http)
    received: int = 0
    """Bytes of all answers so far."""

    def call(self, method: str, *params: object) -> Any:
        """One result; raises ``Unread`` for an error of the node."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        answer = self.exchange("POST", self.url, body, {"content-type": "application/json"})
        self.received += len(answer.body)
        found = answer.json()
        if isinstance(found, dict) and found.get("error") is None and "result" in found:
            return found["result"]
        with readable(f"the node's answer to {method}"):
            text = f"the node answers {method} with {without_key(str(found), self.url)[:200]}"
        raise NodeRefusal(text) if isinstance(found, dict) and found.get("error") is not None else Unread(text)


@dataclass(slots=True)
class PublicApi:
    """The public reads of a deployment. ``seen`` gets each answer, to be searched for what must not be there."""

    url: str
    exchange: Exchange = field(default_factory=Http)
    seen: Callable[[str, bytes], None] = lambda _where, _body: None
    sleep: Callable[[float], None] = time.sleep
    silent: int = 0
    """Requests in a row that were not answered."""
    received: int = 0
    """Bytes of all answers so far."""

    def get(self, path: str) -> HttpReply:
        """One answer of any status but 429 and 503, which are waited out as they ask for."""
        return self._send("GET", path, None, {})

    def graphql(self, query: str, variables: Mapping[str, object]) -> Any:
        """The ``data`` of one query."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        found = self._send("POST", "/subgraph", body, {"content-type": "application/json"})
        value = found.json()
        if found.status != 200 or not isinstance(value, dict) or not isinstance(value.get("data"), dict):
            raise Unread(f"/subgraph answers {found.status}: {found.body[:300]!r}")
        return value["data"]

    def bound_part(self, begin: int) -> None:
        """Raise ``Unread`` where a list whose first page came after ``begin`` bytes is too long to be held."""
        if self.received - begin > MAX_PART_BYTES:
            raise Unread(f"a list of more than {MAX_PART_BYTES} bytes")

    def _send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> HttpReply:
        if self.silent >= MAX_SILENT:
            raise Unread(f"not asked: {MAX_SILENT} requests in a row were not answered")
        self.silent += 1
        waited = 0.0
        while True:
            found = self.exchange(method, self.url.rstrip("/") + path, body, headers)
            self.received += len(found.body)
            self.seen(f"{method} {path}", found.body)
            if found.status not in {429, 503}:
                self.silent = 0
                return found
            if waited >= PATIENCE_SECONDS:
                return found
            pause = min(max(_seconds(found.headers.get("retry-after")), 0.5), PATIENCE_SECONDS - waited)
            self.sleep(pause)
            waited += pause


def _seconds(field_value: str | None) -> float:
    return float(field_value) if field_value and field_value.isascii() and field_value.isdigit() else 1.0
