"""Public reads as versions: an ETag of the exact bytes, conditional requests, and a small cache per process.

Promises: a read is made at most once per ``MAX_STALENESS_SECONDS`` for one address, whatever the load, so an answer is
at most that much older than the index; errors are never kept; the cache is bounded in entries and bytes.
``Cache-Control`` says who else may keep an answer: ``REVALIDATE`` while it can change, ``FINALIZED`` once what it shows
is final on a finalized block.
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Final, cast

from flask import Flask, Response, current_app, request

from service_common.clock import Clock

EXTENSION: Final = "service-versions"
MAX_STALENESS_SECONDS: Final = 1.0
MAX_ENTRIES: Final = 1_024
MAX_BYTES: Final = 16 * 1024 * 1024
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


def json_version(value: object, cache_control: str = REVALIDATE) -> Version:
    """The version of a JSON document; keys are sorted, so equal documents are equal bytes."""
    body = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    return Version(body, _etag(body), cache_control)


def text_version(value: str, media_type: str, cache_control: str) -> Version:
    """The version of a text."""
    body = value.encode()
    return Version(body, _etag(body), cache_control, media_type)


def _etag(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


class VersionCache:
    """The newest versions of this process. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._kept: OrderedDict[str, tuple[float, Version]] = OrderedDict()
        self._bytes = 0

    def get(self, address: str, make: Callable[[], Version]) -> Version:
        """The version at ``address``: kept where it is young enough, else made anew."""
        now = self._clock.monotonic()
        with self._lock:
            found = self._kept.get(address)
        if found is not None and now - found[0] < MAX_STALENESS_SECONDS:
            return found[1]
        version = make()
        self._keep(address, now, version)
        return version

    def _keep(self, address: str, now: float, version: Version) -> None:
        with self._lock:
            former = self._kept.pop(address, None)
            self._bytes += len(version.body) - (len(former[1].body) if former else 0)
            self._kept[address] = (now, version)
            while len(self._kept) > MAX_ENTRIES or self._bytes > MAX_BYTES:
                _, (_, oldest) = self._kept.popitem(last=False)
                self._bytes -= len(oldest.body)


def install_versions(app: Flask, clock: Clock) -> None:
    """Give ``app`` its cache."""
    app.extensions[EXTENSION] = VersionCache(clock)


def versioned(address: str, make: Callable[[], Version]) -> Response:
    """The answer to a public read of ``address`` (its path and whole query)."""
    cache = cast("VersionCache", current_app.extensions[EXTENSION])
    return render_version(cache.get(address, make))


def render_version(version: Version) -> Response:
    """200 with the body, or 304 where the client has this version already."""
    given = request.headers.get("If-None-Match")
    known = given is not None and (
        given == version.etag or request.if_none_match.contains_weak(version.etag.strip('"'))
    )
    response = Response(b"" if known else version.body, status=304 if known else 200, mimetype=version.media_type)
    response.headers["ETag"] = version.etag
    response.headers["Cache-Control"] = version.cache_control
    if known:
        del response.headers["Content-Length"]
    return response
