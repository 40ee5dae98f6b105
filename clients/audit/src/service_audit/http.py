"""Requests to a node, an API or its pages, each of which may be hostile: bounded in time and bytes, no redirects."""

import http.client
import io
import json
import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import urllib3

READ_SECONDS: Final = 20.0
"""For the next bytes of an answer."""
ANSWER_SECONDS: Final = 60.0
"""For one answer, however slowly its bytes come."""
MAX_BYTES: Final = 32 << 20
MAX_FRAMING: Final = 1 << 20
"""Bytes of an answer beside its body: its head, and the framing of its chunks."""
MAX_LOOK_BYTES: Final = 2 << 30
"""Of all answers of one host in one look."""
PATIENCE_SECONDS: Final = 60.0
"""For how long a request that is answered with 429 or 503 is repeated."""
MAX_SILENT_SECONDS: Final = 100.0
"""Waited for one host in a row without an answer, after which it gets no more requests in this look."""
MIN_KEY: Final = 8
"""Characters: shorter parts of an address are words, and no key."""
MALFORMED: Final = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""What reading a value of another shape than documented raises."""


class Unread(Exception):
    """Something did not answer, or not in a form that can be read."""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """An answer of HTTP: the status, its fields in lower case, and its bytes."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the JSON value; raise ``Unread`` for what two readers could take for different values."""
        try:
            return json.loads(self.body, object_pairs_hook=_names_once, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise Unread(f"an answer that is no JSON: {error}") from None


def _names_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object with a name twice")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} in the place of a number")


Transport = Callable[[str, str, bytes | None, Mapping[str, str]], HttpReply]
"""Method, address, body and fields of a request; raises ``Unread``."""


class BoundedStream(io.RawIOBase):
    """What comes over a connection for one answer: for ``ANSWER_SECONDS``, and no more bytes than an answer may have.

    The head and the framing of chunks are read through it, too: a line that drips or never ends is given up.
    """

    def __init__(
        self, connection: socket.socket, received: io.RawIOBase, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._connection, self._received, self._clock = connection, received, clock
        self._ends, self._left = clock() + ANSWER_SECONDS, MAX_BYTES + MAX_FRAMING

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        seconds = self._ends - self._clock()
        if seconds <= 0:
            raise TimeoutError(f"an answer that takes more than {ANSWER_SECONDS:.0f} seconds")
        if self._left <= 0:
            raise OSError(f"an answer of more than {MAX_BYTES} bytes")
        self._connection.settimeout(min(seconds, READ_SECONDS))
        count = self._received.readinto(memoryview(buffer)[: self._left])
        self._left -= count or 0
        return count

    def close(self) -> None:
        self._received.close()
        super().close()


class _Response(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *arguments: Any, **named: Any) -> None:
        super().__init__(sock, *arguments, **named)
        self.fp = io.BufferedReader(BoundedStream(sock, self.fp.detach()))


class _PlainConnection(urllib3.connection.HTTPConnection):
    response_class = _Response


class _SecureConnection(urllib3.connection.HTTPSConnection):
    response_class = _Response


class _PlainPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _PlainConnection


class _SecurePool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


class UrllibTransport:
    """Requests over the network."""

    def __init__(self) -> None:
        self._pool = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(connect=5.0, read=READ_SECONDS))
        self._pool.pool_classes_by_scheme = {"http": _PlainPool, "https": _SecurePool}

    def __call__(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> HttpReply:
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
            fields = {key.lower(): value for key, value in answer.headers.items()}
            # What has come, and no more memory than that, whatever length the answer states.
            parts = iter(lambda: answer.read1(1 << 16, decode_content=False), b"")
            return HttpReply(answer.status, fields, b"".join(parts))
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise Unread(f"{host_of(url)} ended in the middle: {type(error).__name__}") from None
        finally:
            with suppress(OSError):
                answer.close()


@dataclass(slots=True)
class Requests:
    """The requests of one look: none after its time, none to a host that is silent or sends too much.

    429 and 503 are waited out for as long as they ask, up to ``PATIENCE_SECONDS``.
    """

    transport: Transport = field(default_factory=UrllibTransport)
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _ends: float = float("inf")
    _received: Counter[str] = field(default_factory=Counter)
    _silent: dict[str, float] = field(default_factory=dict)
    """Seconds waited in a row for nothing, by host and port."""

    def begin(self, seconds: float) -> None:
        """Begin a look that lasts so long."""
        self._ends = self.clock() + seconds
        self._received.clear()
        self._silent.clear()

    def send(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> HttpReply:
        """Return the answer; raise ``Unread`` where there is none."""
        waited = 0.0
        while True:
            found = self._once(method, url, body, headers)
            if found.status not in {429, 503} or waited >= PATIENCE_SECONDS:
                return found
            pause = min(max(_seconds(found.headers.get("retry-after")), 0.5), PATIENCE_SECONDS - waited)
            self.sleep(pause)
            waited += pause
            place = _place_of(url)
            self._silent[place] = self._silent.get(place, 0.0) + pause

    def _once(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> HttpReply:
        host, place = host_of(url), _place_of(url)
        if self.clock() >= self._ends:
            raise Unread("not asked: the time of this look is over")
        if self._received[host] >= MAX_LOOK_BYTES:
            raise Unread(f"not asked: {host} has sent more than {MAX_LOOK_BYTES >> 20} MiB in this look")
        if self._silent.get(place, 0.0) >= MAX_SILENT_SECONDS:
            raise Unread(f"not asked: {host} has not answered for {MAX_SILENT_SECONDS:.0f} seconds")
        began = self.clock()
        try:
            found = self.transport(method, url, body, headers)
        except Unread:
            self._received[host] += MAX_FRAMING  # nobody knows how much came
            self._silent[place] = self._silent.get(place, 0.0) + self.clock() - began
            raise
        self._received[host] += len(found.body)
        if found.status not in {429, 503}:
            self._silent.pop(place, None)
        return found


def _seconds(value: str | None) -> float:
    return float(value) if value and value.isascii() and value.isdigit() and len(value) < 9 else 1.0


def host_of(url: str) -> str:
    """Return scheme and host of an address: the rest of it often is a key."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "the address"
    return f"{parts.scheme}://{parts.hostname}" if parts.hostname else "the address"


def _place_of(url: str) -> str:
    """Return host and port: one machine may have both the node and the API."""
    with suppress(ValueError):
        return urlsplit(url).netloc
    return url


def without_key(text: str, url: str) -> str:
    """Return what an endpoint says, without the parts of its address that may be a key."""
    for part in re.split(r"[/?&=#:@]", url.removeprefix(host_of(url))):
        if len(part) >= MIN_KEY:
            text = text.replace(part, "…")
    return text
