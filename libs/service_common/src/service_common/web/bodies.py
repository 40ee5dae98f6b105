"""Bodies on their way: read whole, within bounds, before a request takes a place of those that are answered.

Promises: a body that does not end holds a thread and its own bytes, and nothing that others need; one network address
holds at most a part of them. What a body may weigh at most is what the largest route takes: a longer one is left unread
for the route to refuse.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from threading import Lock
from typing import Final
from wsgiref.types import WSGIEnvironment

from service_common.domain.frontmatter import MAX_DOCUMENT_BYTES

MAX_OPEN: Final = 1_000
MAX_OPEN_OF_ONE: Final = 250
"""Of one network address."""
MAX_OPEN_BYTES: Final = 32 * 1024 * 1024
"""Of all bodies that are not there whole."""
PIECE_BYTES: Final = 16 * 1024


class OpenBodies:
    """The bodies that one process is reading. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._by_network = Counter[str]()
        self._open = 0
        self._bytes = 0

    def receive(self, environ: WSGIEnvironment, network: str | None) -> bool:
        """Put the whole body where the app reads it; False where there is no room for another one.

        ``network`` is the caller's, or None for one of many people.
        """
        if not may_have_body(environ) or _announced(environ) > MAX_DOCUMENT_BYTES:
            return True
        with self._room(network or "") as is_there:
            if not is_there:
                return False
            body = self._read(environ)
        if body is None:
            return False
        environ["wsgi.input"] = BytesIO(body)
        return True

    @contextmanager
    def _room(self, network: str) -> Iterator[bool]:
        with self._lock:
            most = MAX_OPEN_OF_ONE if network else MAX_OPEN
            is_there = self._open < MAX_OPEN and self._by_network[network] < most
            if is_there:
                self._open += 1
                self._by_network[network] += 1
        try:
            yield is_there
        finally:
            if is_there:
                with self._lock:
                    self._open -= 1
                    self._by_network[network] -= 1
                    if not self._by_network[network]:
                        del self._by_network[network]

    def _read(self, environ: WSGIEnvironment) -> bytes | None:
        """The body, or one byte more than any route takes; None where the unfinished ones weigh too much together."""
        stream, pieces, size = environ["wsgi.input"], list[bytes](), 0
        try:
            while size <= MAX_DOCUMENT_BYTES and (
                piece := stream.read(min(PIECE_BYTES, MAX_DOCUMENT_BYTES + 1 - size))
            ):
                pieces.append(piece)
                size += len(piece)
                with self._lock:
                    self._bytes += len(piece)
                    if self._bytes > MAX_OPEN_BYTES:
                        return None
        finally:
            with self._lock:
                self._bytes -= size
        return b"".join(pieces)


def may_have_body(environ: WSGIEnvironment) -> bool:
    """Whether bytes may follow the header: HTTP/1 says so in one of two fields, later protocols need not."""
    if environ.get("SERVER_PROTOCOL") in {"HTTP/1.1", "HTTP/1.0"}:
        return environ.get("CONTENT_LENGTH") not in {None, "", "0"} or "HTTP_TRANSFER_ENCODING" in environ
    return True


def _announced(environ: WSGIEnvironment) -> int:
    """The length that the header tells; 0 where it tells none."""
    length = environ.get("CONTENT_LENGTH") or ""
    return int(length) if length.isascii() and length.isdigit() and len(length) < 20 else 0
