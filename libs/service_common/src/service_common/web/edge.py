"""The outermost layer of every Flask service: what holds for each request, whichever part answers it.

- A correlation id in and out, the headers that every answer carries, one count, one time and one log line for each
  request (no line for those that find no place, which anyone can send by the thousand).
- One bound of requests in flight: more at a time than ``MAX_IN_FLIGHT``, or more of one network than ``Callers`` lets
  in within a second, get 503 ``service_overloaded`` with Retry-After. A body is read whole before its request takes a
  place. The liveness route is always let in, so that an overloaded process is not restarted.
- Where the app keeps versions, a public read that is kept and young enough is answered here, without the framework.

How long headers and bodies may take, and how many connections there are, the proxy before the service bounds.
"""

import json
import re
import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import cache
from io import BytesIO
from typing import Final
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from bounty_protocol.domain.challenge.frontmatter import MAX_DOCUMENT_BYTES
from bounty_protocol.errors import DEFAULT_RETRY_AFTER_SECONDS, ServiceError
from prometheus_client import Counter, Histogram

from service_common.log import correlation_id, get_logger
from service_common.places import MAX_IN_FLIGHT, Places
from service_common.web.callers import Callers
from service_common.web.error_budget import count_outcome, excuse
from service_common.web.problems import envelope

REQUESTS: Final = Counter("service_http_requests_total", "Requests answered", ["route", "method", "status"])
SECONDS: Final = Histogram(
    "service_http_request_seconds",
    "Time to answer; the `rate` of its `_sum` is how many requests are in progress",
    ["route", "method"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
"""The finest are for kept reads, which take a millisecond; the widest for a publication that waits for its review."""
SHED: Final = Counter("service_http_requests_shed_total", "Requests refused because too many were being answered")
ROUTE: Final = "service.route"
"""Where the framework notes the route's template."""
KEPT: Final = "kept"
"""In a template's place where a kept read is answered: no route is looked for."""
_NO_ROUTE: Final = "none"
_HAS_NO_PLACE: Final = "service.no_place"
_BODY_IS_READ: Final = "service.body_read"
_ALWAYS: Final = "/healthz"
_CORRELATION: Final = re.compile(r"[A-Za-z0-9\-]{8,64}")
_EVERYWHERE: Final = (
    ("Access-Control-Allow-Origin", "*"),
    (
        "Access-Control-Expose-Headers",
        "ETag, Retry-After, X-Correlation-Id, X-Hub, X-Index-Block, X-Index-Time",
    ),
    ("X-Content-Type-Options", "nosniff"),
)
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "OPTIONS"})
Answer = tuple[str, list[tuple[str, str]], bytes]
"""Status line, headers, body."""

log = get_logger(__name__)


class Edge:
    """A WSGI application around the framework's ``inner``."""

    def __init__(self, inner: WSGIApplication, callers: Callers | None = None) -> None:
        self._inner, self._callers = inner, callers
        self._in_flight = Places()
        self.kept: Callable[[WSGIEnvironment], Answer | None] = lambda _: None
        self.always: tuple[tuple[str, str], ...] = ()
        """Headers of every answer of this app, refusals included."""

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        began = time.perf_counter()
        given = environ.get("HTTP_X_CORRELATION_ID", "")
        identifier = given if _CORRELATION.fullmatch(given) else secrets.token_hex(16)
        correlation_id.set(identifier)

        def start(status: str, headers: list[tuple[str, str]], exc_info: object = None) -> object:
            headers.extend((*_EVERYWHERE, *self.always, ("X-Correlation-Id", identifier)))
            if may_have_body(environ) and not environ.get(_BODY_IS_READ, False):
                headers.append(("Connection", "close"))  # the server ends it, and would not say so
            _record(environ, status[:3], time.perf_counter() - began)
            return start_response(status, headers, exc_info)  # type: ignore[arg-type]

        answer = self.kept(environ)
        if answer is None:
            _read_body(environ)
            with ExitStack() as places:
                try:
                    self._enter(environ, places)
                except ServiceError as error:
                    answer = _overloaded(environ, error)
                else:
                    return self._inner(environ, start)  # type: ignore[arg-type]  # its return value is never used
        status, headers, content = answer
        start(status, headers)
        return [content]

    def _enter(self, environ: WSGIEnvironment, places: ExitStack) -> None:
        """Take the places of one request, released when ``places`` ends; 503 if there is none."""
        if environ["PATH_INFO"] == _ALWAYS:
            return
        environ[_HAS_NO_PLACE] = True
        if self._callers is not None:
            places.enter_context(self._callers.enter(environ))
        refusal = ServiceError("service_overloaded", "Too many requests are being answered at the moment.")
        try:
            places.enter_context(self._in_flight.hold("all", MAX_IN_FLIGHT, refusal=refusal))
        except ServiceError:
            SHED.inc()
            raise
        del environ[_HAS_NO_PLACE]


def may_have_body(environ: WSGIEnvironment) -> bool:
    """Return whether bytes may follow the header, which says so in one of two fields."""
    return environ.get("CONTENT_LENGTH") not in {None, "", "0"} or "HTTP_TRANSFER_ENCODING" in environ


def _read_body(environ: WSGIEnvironment) -> None:
    """Put the whole body where the app reads it; a body that no route accepts is left for the route to refuse."""
    if not may_have_body(environ) or "HTTP_TRANSFER_ENCODING" in environ:
        return
    text = environ["CONTENT_LENGTH"]
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) > MAX_DOCUMENT_BYTES:
        return
    body, stream, left = BytesIO(), environ["wsgi.input"], int(text)
    while left and (piece := stream.read(left)):
        left -= body.write(piece)
    body.seek(0)
    environ["wsgi.input"] = body
    environ[_BODY_IS_READ] = not left


def _record(environ: WSGIEnvironment, status: str, seconds: float) -> None:
    if environ["PATH_INFO"] == _ALWAYS:
        return  # a probe is no traffic
    method, route = _method(environ), environ.get(ROUTE, _NO_ROUTE)
    counter, histogram = _series(route, method, status)
    counter.inc()
    histogram.observe(seconds)
    count_outcome(environ, status, is_routed=route not in {_NO_ROUTE, KEPT})
    if _HAS_NO_PLACE not in environ:
        log.info("answered", route=route, method=method, status=int(status), ms=round(seconds * 1000, 1))


def _method(environ: WSGIEnvironment) -> str:
    method = str(environ["REQUEST_METHOD"])
    return method if method in _METHODS else "other"


@cache
def _series(route: str, method: str, status: str) -> tuple[Counter, Histogram]:
    """Return the cached series of one kind of answer: finding it takes some 4 µs, a cached read 60
    (``api.public_detail``).
    """
    return REQUESTS.labels(route, method, status), SECONDS.labels(route, method)


def _overloaded(environ: WSGIEnvironment, error: ServiceError) -> Answer:
    """Return the answer to a request for which no place is free."""
    if not error.is_failure:
        excuse(environ)
    body = json.dumps(envelope(error)).encode()
    headers = [
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
        ("Retry-After", str(DEFAULT_RETRY_AFTER_SECONDS)),
        ("Cache-Control", "no-store"),
    ]
    return "503 Service Unavailable", headers, body
