"""Text compressed for who takes it: by brotli, else by gzip.

Nothing on these pages is secret and nothing of a request but its address is in an answer, so that the size of a
compressed answer tells nobody anything. What was compressed once is kept by its ETag or, of files whose names change
with their bytes, by its path.
"""

import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Final
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import brotli
from werkzeug.datastructures import Accept, Headers
from werkzeug.http import parse_accept_header

LEAST_BYTES: Final = 600
"""Below that a packet holds it anyway."""
MAX_KEPT_BYTES: Final = 8 * 1024 * 1024
_TEXT: Final = (
    *("text/", "image/svg+xml"),
    *("application/json", "application/feed+json", "application/atom+xml", "application/xml"),
)
_ASSETS: Final = "/assets/"
_GZIP: Final = 31
"""zlib's window with a gzip header."""


def _gzip(body: bytes, level: int) -> bytes:
    made = zlib.compressobj(level, zlib.DEFLATED, _GZIP)
    return made.compress(body) + made.flush()


def _brotli(body: bytes, level: int) -> bytes:
    made: bytes = brotli.compress(body, mode=brotli.MODE_TEXT, quality=level)
    return made


_ENCODINGS: Final[dict[str, tuple[Callable[[bytes, int], bytes], int, int]]] = {
    "br": (_brotli, 5, 10),
    "gzip": (_gzip, 6, 9),
}
"""Each with its level for what is made anew, and for files that are compressed once in a process's life."""


class Compressed:
    """A WSGI application around another."""

    def __init__(self, inner: WSGIApplication) -> None:
        self._inner = inner
        self._lock = Lock()
        self._kept: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._bytes = 0

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        started: list[tuple[str, list[tuple[str, str]], object]] = []

        def start(status: str, headers: list[tuple[str, str]], exc_info: object = None) -> object:
            started[:] = [(status, headers, exc_info)]
            return None

        inner = self._inner(environ, start)  # type: ignore[arg-type]  # its return value is never used
        try:
            body = b"".join(inner)
        finally:
            if hasattr(inner, "close"):
                inner.close()
        ((status, stated, exc_info),) = started
        headers = Headers(stated)
        if headers.get("Content-Type", "").startswith(_TEXT) and "Content-Encoding" not in headers:
            headers.add("Vary", "Accept-Encoding")
            encoding = _encoding(environ.get("HTTP_ACCEPT_ENCODING", ""))
            if encoding is not None and len(body) >= LEAST_BYTES:
                path = environ["PATH_INFO"] if status.startswith("200") else ""
                body = self._compressed(path, headers.get("ETag"), body, encoding)
                headers["Content-Encoding"] = encoding
                headers["Content-Length"] = str(len(body))
                if (etag := headers.get("ETag")) is not None and not etag.startswith("W/"):
                    headers["ETag"] = f"W/{etag}"  # other bytes of the same text
        start_response(status, headers.to_wsgi_list(), exc_info)  # type: ignore[arg-type]
        return [body]

    def _compressed(self, path: str, etag: str | None, body: bytes, encoding: str) -> bytes:
        is_asset = path.startswith(_ASSETS)
        make, usual, best = _ENCODINGS[encoding]
        name = etag if etag is not None else path if is_asset else None
        if name is None:
            return make(body, usual)
        with self._lock:
            found = self._kept.get((encoding, name))
            if found is not None:
                self._kept.move_to_end((encoding, name))
                return found
        made = make(body, best if is_asset else usual)
        with self._lock:
            if (encoding, name) not in self._kept:
                self._kept[encoding, name] = made
                self._bytes += len(made)
            while self._bytes > MAX_KEPT_BYTES:
                self._bytes -= len(self._kept.popitem(last=False)[1])
        return made


def _encoding(header: str) -> str | None:
    """The better one of those that the client takes; None where it takes none."""
    accepted = parse_accept_header(header, Accept)
    return next((each for each in _ENCODINGS if accepted.quality(each) > 0), None)
