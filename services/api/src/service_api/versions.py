"""Public reads as versions: an ETag of the exact bytes, conditional requests, and a small cache per process.

A read is made at most twice per ``MAX_STALENESS_SECONDS`` for one address, whatever the load, and who asks while it is
made waits for it. So an answer is at most that much older than the index; errors are never kept. What is kept is
answered by the edge, before the framework. ``Cache-Control`` states who else may keep an answer: ``REVALIDATE`` while
it can change, ``FINALIZED`` once what it shows is whole and final on a finalized block.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast
from urllib.parse import urlencode
from wsgiref.types import WSGIEnvironment

from bounty_protocol.clock import Clock
from bounty_protocol.wire.deployment import IndexPosition
from flask import Flask, Response, current_app, request
from service_common.db.hub_reads import Head
from service_common.recent import Recent
from service_common.web.edge import KEPT, ROUTE, Answer, Edge
from werkzeug.http import parse_etags

EXTENSION: Final = "service-versions"
MAX_STALENESS_SECONDS: Final = 1.0
MAX_ENTRIES: Final = 64
"""The longest answers have 250 KB."""
REVALIDATE: Final = "no-cache"
FINALIZED: Final = "public, max-age=60"
DOCUMENT: Final = "public, max-age=300"


@dataclass(frozen=True, slots=True)
class Version:
    """One representation: its bytes, their ETag, and who may keep it."""

    body: bytes
    etag: str
    cache_control: str
    media_type: str = "application/json"
    link: str | None = None
    """Where the next page is (RFC 8288)."""
    at: Head | IndexPosition | None = None
    """How far the index was; the ETag is of the bytes alone, so that they are known again wherever they come from."""
    headers: tuple[tuple[str, str], ...] = ()
    """Further headers of its answer."""


def json_version(
    value: object,
    cache_control: str = REVALIDATE,
    link: str | None = None,
    at: Head | IndexPosition | None = None,
) -> Version:
    """Return the version of a JSON document; keys are sorted, so equal documents are equal bytes."""
    body = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    return Version(body, _etag(body), cache_control, link=link, at=at)


def text_version(value: str, media_type: str, cache_control: str) -> Version:
    """Return the version of a text."""
    body = value.encode()
    return Version(body, _etag(body), cache_control, f"{media_type}; charset=utf-8")


def index_headers(at: Head | IndexPosition) -> list[tuple[str, str]]:
    """Return the position of the index behind an answer: its newest block, and that block's time."""
    return [("X-Index-Block", str(at.block_number)), ("X-Index-Time", str(at.block_time))]


def _etag(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


VersionCache = Recent[str, Version]
"""The newest versions of a process, by path and query."""


def version_cache(clock: Clock) -> VersionCache:
    """Make the cache of a process; its entries are at most ``MAX_STALENESS_SECONDS`` old."""
    return Recent(MAX_STALENESS_SECONDS / 2, MAX_ENTRIES, clock)


def install_versions(app: Flask, clock: Clock) -> None:
    """Give ``app`` its cache, and its edge the cached answers."""
    cache = app.extensions[EXTENSION] = version_cache(clock)
    if isinstance(app.wsgi_app, Edge):
        app.wsgi_app.kept = lambda environ: _kept(cache, environ)


def versioned(make: Callable[[], Version]) -> Response:
    """Answer a public read of this request's path and query from the cache, or make the answer and cache it."""
    cache = cast("VersionCache", current_app.extensions[EXTENSION])
    return render_version(cache.get(_address(request.environ), make))


def link_to_next(name: str, value: str) -> str:
    """Return the ``Link`` to this request's own address with one query value changed."""
    query = urlencode({**request.args, name: value})
    return f'<{request.environ["PATH_INFO"]}?{query}>; rel="next"'


def render_version(version: Version) -> Response:
    """Return 200 with the body, or 304 if the client has this version already."""
    status, headers, body = _answer(version, request.headers.get("If-None-Match"))
    response = Response(body, status=status, headers=headers)
    if status.startswith("304"):
        del response.headers["Content-Length"]
        del response.headers["Content-Type"]
    return response


def _kept(cache: VersionCache, environ: WSGIEnvironment) -> Answer | None:
    """Return a kept version for a plain GET without a body. A cached version was read at exactly this address
    before.
    """
    if environ["REQUEST_METHOD"] != "GET" or "CONTENT_LENGTH" in environ or "HTTP_TRANSFER_ENCODING" in environ:
        return None
    version = cache.young(_address(environ))
    if version is None:
        return None
    environ[ROUTE] = KEPT
    return _answer(version, environ.get("HTTP_IF_NONE_MATCH"))


def _address(environ: WSGIEnvironment) -> str:
    return f"{environ['PATH_INFO']}?{environ.get('QUERY_STRING', '')}"


def _answer(version: Version, known: str | None) -> Answer:
    headers = [("ETag", version.etag), ("Cache-Control", version.cache_control), *version.headers]
    if version.link is not None:
        headers.append(("Link", version.link))
    if version.at is not None:
        headers += index_headers(version.at)
    if known is not None and _is_known(known, version.etag):
        return "304 NOT MODIFIED", headers, b""
    headers += [("Content-Type", version.media_type), ("Content-Length", str(len(version.body)))]
    return "200 OK", headers, version.body


def _is_known(known: str, etag: str) -> bool:
    return known == etag or parse_etags(known).contains_weak(etag.strip('"'))


def exact_bytes(content: bytes) -> Response:
    """Answer one reader alone with Markdown as it was committed to; nobody keeps it on the way."""
    return Response(content, headers=[("Cache-Control", "no-store")], content_type="text/markdown; charset=utf-8")
