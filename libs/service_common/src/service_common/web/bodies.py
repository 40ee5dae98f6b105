"""Bodies on their way: read whole, within bounds, before a request takes a place of those that are answered.

A body that does not end holds a thread and its own bytes, and nothing that others need; one network address holds at
most a part of them. The largest body that is read is what the largest route takes: a longer one is left unread for the
route to refuse.
"""

from contextlib import ExitStack
from io import BytesIO
from threading import Lock
from typing import Final
from wsgiref.types import WSGIEnvironment

from bounty_protocol.domain.frontmatter import MAX_DOCUMENT_BYTES

from service_common.web.at_work import AtWork
from service_common.web.outcomes import excuse

MAX_OPEN: Final = 1_000
MAX_OPEN_OF_ONE: Final = 250
"""Of one network address."""
MAX_OPEN_BYTES_OF_ONE: Final = 8 * 1024 * 1024
"""Of one network address, as announced."""
MAX_OPEN_OF_SLOWED: Final = 4
"""Of one that is answered slowly: what it sends beyond is not read."""
MAX_OPEN_BYTES: Final = 32 * 1024 * 1024
"""Of all bodies that are not there whole."""
PIECE_BYTES: Final = 16 * 1024
_IS_READ: Final = "service.body_read"


class OpenBodies:
    """The bodies that one process is reading. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open = AtWork()
        self._bytes = 0

    def receive(self, environ: WSGIEnvironment, network: str | None, *, slowed: bool = False) -> bool:
        """Put the whole body where the app reads it; False where there is no place for another one.

        ``network`` is the caller's, or None for one of many people; ``slowed`` means that it is answered slowly.
        """
        if not may_have_body(environ) or _announced(environ) > MAX_DOCUMENT_BYTES:
            return True
        with ExitStack() as places:
            if not self._open.begin(None, MAX_OPEN, places):
                return False
            most = MAX_OPEN_OF_SLOWED if slowed else MAX_OPEN_OF_ONE
            length = _announced(environ) or MAX_DOCUMENT_BYTES
            if network is not None and not (
                self._open.begin(network, most, places)
                and self._open.begin(("bytes", network), MAX_OPEN_BYTES_OF_ONE, places, amount=length)
            ):
                excuse(environ)
                return False
            body = self._read(environ)
        if body is None:
            return False
        environ["wsgi.input"] = body
        environ[_IS_READ] = body.getbuffer().nbytes <= MAX_DOCUMENT_BYTES  # else more of it follows
        return True

    def _read(self, environ: WSGIEnvironment) -> BytesIO | None:
        """The body, or one byte more than any route takes; None where the unfinished ones weigh too much together.

        It grows in one place: pieces that are kept until the last has come would leave memory in shreds.
        """
        stream, body, size = environ["wsgi.input"], BytesIO(), 0
        try:
            while size <= MAX_DOCUMENT_BYTES and (
                piece := stream.read(min(PIECE_BYTES, MAX_DOCUMENT_BYTES + 1 - size))
            ):
                size += body.write(piece)
                with self._lock:
                    self._bytes += len(piece)
                    if self._bytes > MAX_OPEN_BYTES:
                        return None
        finally:
            with self._lock:
                self._bytes -= size
        body.seek(0)
        return body


def may_have_body(environ: WSGIEnvironment) -> bool:
    """Whether bytes may follow the header, which states it in one of two fields."""
    return environ.get("CONTENT_LENGTH") not in {None, "", "0"} or "HTTP_TRANSFER_ENCODING" in environ


def is_left_unread(environ: WSGIEnvironment) -> bool:
    """Whether a body follows that nobody has read."""
    return may_have_body(environ) and not environ.get(_IS_READ, False)


def _announced(environ: WSGIEnvironment) -> int:
    """The length in the header; 0 where it has none."""
    length = environ.get("CONTENT_LENGTH") or ""
    return int(length) if length.isascii() and length.isdigit() and len(length) < 20 else 0
