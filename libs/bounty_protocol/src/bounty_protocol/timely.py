"""HTTP connections with a total response timeout, and a limit of bytes.

urllib3 bounds how long each single wait for bytes takes: an answer of which a byte comes now and then would be waited
for without end. Here the time of a whole answer is bounded, by seconds, or for a file of any length by seconds and a
rate that it keeps from then on; and so are the bytes that come over the connection for it: head, framing and body. An
answer with a content encoding is refused, since none is requested and a few of its bytes can stand for very many; no
redirect is followed.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from errno import ETIMEDOUT
from http.client import HTTPException, HTTPResponse
from io import BufferedReader, RawIOBase
from socket import socket
from threading import local
from typing import Any, Final

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util.response import assert_header_parsing

HEAD_BYTES: Final = 64 * 1024
"""Bytes of everything before the body, and once more of what frames its chunks."""
_PIECE: Final = 256 * 1024
_PLAIN: Final = frozenset({"", "identity"})
_NOT_NOW: Final = frozenset({408, 429, 502, 503, 504, *range(520, 531)})


def may_pass(status: int) -> bool:
    """Return whether a status is of a server that is limited or down, or of the proxy or CDN before one: the same
    request may succeed in a moment. Whether it may be sent again is the caller's decision.
    """
    return status in _NOT_NOW


def is_cut(error: Exception) -> bool:
    """Return whether the connection broke before the whole answer came. An unknown name, a refused connection and a
    wait that took too long are other errors.
    """
    return isinstance(error, urllib3.exceptions.ProtocolError)


class AnswerRefused(urllib3.exceptions.HTTPError):
    """An answer that is not read to its end; the text names nothing of the address."""


class AnswerTooLong(AnswerRefused):
    """An answer of more bytes than the caller takes."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(f"an answer of more than {most_bytes} bytes")


class AnswerEncoded(AnswerRefused):
    """An answer with a content encoding that nobody requested."""

    def __init__(self) -> None:
        super().__init__("an answer with a content encoding")


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def retry_after(self) -> int | None:
        """The seconds of Retry-After; None if it has none, or a date, or more digits than seconds need."""
        text = self.headers.get("Retry-After", "")
        return int(text) if len(text) < 10 and text.isascii() and text.isdigit() else None


@dataclass(slots=True)
class AnswerLimits:
    """The allowance of one answer: an end in time, and a number of bytes off the connection."""

    seconds: float
    bytes_left: int
    least_rate: int | None = None
    """Bytes that earn another second."""
    ends: float = 0.0

    def begin(self) -> None:
        """Count the time from here."""
        self.ends = time.monotonic() + self.seconds

    def take(self, count: int) -> None:
        """Count this many more bytes."""
        self.bytes_left -= count
        if self.least_rate is not None:
            self.ends += count / self.least_rate

    @property
    def used_up(self) -> bool:
        return self.bytes_left <= 0


class ThreadLimits:
    """Allowances of the threads that request something, and pools of connections whose answers stay within them."""

    def __init__(self) -> None:
        self._of_thread = local()
        self.pool_classes = _pool_classes(self._of_thread)

    @contextmanager
    def granted(self, seconds: float, most_bytes: int, least_rate: int | None = None) -> Iterator[AnswerLimits]:
        """Set the allowance of the next answer that this thread requests, with a body of at most ``most_bytes``."""
        framing = HEAD_BYTES + most_bytes // 4
        self._of_thread.allowance = allowance = AnswerLimits(seconds, HEAD_BYTES + framing + most_bytes, least_rate)
        try:
            yield allowance
        finally:
            self._of_thread.allowance = None


class TimelyHttp:
    """Connections that are used again, and exchanges over them. Thread-safe. ``options`` are urllib3's.

    With ``least_rate`` an answer has another second for that many bytes of it.
    """

    def __init__(self, answer_seconds: float, *, least_rate: int | None = None, **options: Any) -> None:
        self._seconds, self._least_rate = answer_seconds, least_rate
        self._allowances = ThreadLimits()
        self._pools = urllib3.PoolManager(**{"retries": False, **options})
        self._pools.pool_classes_by_scheme = self._allowances.pool_classes

    def exchange(
        self,
        method: str,
        url: str,
        *,
        most_bytes: int,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        timeout: urllib3.Timeout | float | None = None,
    ) -> HttpAnswer:
        """Send one request and read its whole answer; raise urllib3's ``HTTPError`` if there is none.

        ``AnswerTooLong`` if the body is longer than ``most_bytes``; ``ReadTimeoutError`` if the answer takes longer
        than the time allowed since its request was sent.
        """
        request = {"body": body, "headers": headers, **({} if timeout is None else {"timeout": timeout})}
        with self.opened(method, url, request, most_bytes=most_bytes) as opened:
            pieces = list(opened.pieces(_PIECE))
            return HttpAnswer(opened.status, opened.headers, b"".join(pieces))

    @contextmanager
    def opened(self, method: str, url: str, request: Mapping[str, Any], *, most_bytes: int) -> "Iterator[Opened]":
        """Send one request whose answer the caller reads in pieces. ``request`` are urllib3's options of
        one request.
        """
        with self._allowances.granted(self._seconds, most_bytes, self._least_rate) as allowance:
            with _as_http_error(allowance, most_bytes):
                response = self._pools.request(method, url, redirect=False, preload_content=False, **request)
            with closing(response):  # one that was read to its end has given its connection back
                if is_encoded(response.headers.get("Content-Encoding")):
                    raise AnswerEncoded
                yield Opened(response, allowance, most_bytes)

    def clear(self) -> None:
        """Close the connections."""
        self._pools.clear()


class Opened:
    """An answer whose body is still to be read."""

    def __init__(self, response: urllib3.BaseHTTPResponse, allowance: AnswerLimits, most_bytes: int) -> None:
        self._response, self._allowance, self._most_bytes = response, allowance, most_bytes
        self.status, self.headers = response.status, response.headers

    def pieces(self, size: int) -> Iterator[bytes]:
        """Yield the body in pieces of at most this many bytes; raises as an exchange does."""
        left = self._most_bytes
        if _announced(self._response) > left:
            raise AnswerTooLong(left)
        while True:
            with _as_http_error(self._allowance, self._most_bytes):
                piece = self._response.read(min(size, left + 1), decode_content=False)
            left -= len(piece)
            if left < 0:
                raise AnswerTooLong(self._most_bytes)
            if not piece:
                return
            yield piece


@contextmanager
def _as_http_error(allowance: AnswerLimits, most_bytes: int) -> Iterator[None]:
    """Convert everything that reading an answer can raise to ``HTTPError``."""
    try:
        yield
    except (urllib3.exceptions.ProtocolError, ValueError, OverflowError) as error:  # a negative chunk is a ValueError
        if allowance.used_up:
            raise AnswerTooLong(most_bytes) from error
        raise urllib3.exceptions.ProtocolError("the answer is malformed") from error


def is_encoded(field: str | None) -> bool:
    """Return whether, according to ``Content-Encoding``, the body is not the content itself."""
    return (field or "").strip().lower() not in _PLAIN


def _announced(response: urllib3.BaseHTTPResponse) -> int:
    """Return the length that the head announces, if it is valid; a chunked answer has none."""
    text = response.headers.get("Content-Length", "")
    return int(text) if len(text) < 20 and text.isascii() and text.isdigit() and not response.chunked else 0


def _pool_classes(of_thread: local) -> dict[str, Any]:
    """Return urllib3's pools, with answers that stay within the allowance of the thread that requested them."""

    class Bounded(HTTPResponse):
        def __init__(self, sock: socket, *arguments: Any, **named: Any) -> None:
            super().__init__(sock, *arguments, **named)
            allowance: AnswerLimits = of_thread.allowance
            allowance.begin()
            self.fp = BufferedReader(_Received(sock, self.fp.detach(), allowance))

        def begin(self) -> None:
            """Read the head; one that is malformed or contradicts itself is refused: urllib3 would log the address."""
            super().begin()
            try:
                assert_header_parsing(self.msg)
            except urllib3.exceptions.HeaderParsingError:
                raise HTTPException("a malformed head") from None
            lengths = {each.strip() for line in self.msg.get_all("Content-Length", []) for each in line.split(",")}
            if len(lengths) + bool(self.chunked) > 1:
                raise HTTPException("two lengths")

    class Plain(HTTPConnection):
        response_class = Bounded

    class Secure(HTTPSConnection):
        response_class = Bounded

    class PlainPool(urllib3.HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(urllib3.HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}


class _Received(RawIOBase):
    """Bytes of a connection within an allowance; then ``TimeoutError``, or ``OSError`` for too many bytes."""

    def __init__(self, connection: socket, received: RawIOBase, allowance: AnswerLimits) -> None:
        self._connection, self._received, self._allowance = connection, received, allowance
        self._patience = connection.gettimeout()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self._allowance.used_up:
            raise OSError("the answer is too long")
        left = self._allowance.ends - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer takes too long")
        self._connection.settimeout(left if self._patience is None else min(left, self._patience))
        try:
            count = self._received.readinto(memoryview(buffer)[: self._allowance.bytes_left])
        except TimeoutError as error:
            if error.errno == ETIMEDOUT:  # TCP gave up, not this wait
                raise ConnectionAbortedError(ETIMEDOUT, "the other end closed the connection") from error
            raise
        self._allowance.take(count or 0)
        return count

    def close(self) -> None:
        self._received.close()
        super().close()
