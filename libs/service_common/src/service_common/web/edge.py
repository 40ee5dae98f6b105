"""The outermost layer of every Flask service: what holds for each request, whichever part answers it.

- A correlation id in and out, the headers that every answer carries, one count, one time and one log line for each
  request (no line for those that are shed, which anyone can send by the thousand).
- Shedding: more requests at a time than ``limit``, or more of one caller than ``Callers`` admits, get 503
  ``service_overloaded`` with Retry-After, and those with a body leave some places to those without. A body is read
  whole before its request takes a place (``bodies``), so that bodies which do not end keep nobody out. The liveness
  route is always let in, so that an overloaded process is not restarted.
- Refusals take turns. A hundred connections that are refused at full speed, each in a thread of its own, would make
  everybody else wait for the interpreter: 503 for shedding is given to one at a time with a pause, and a network
  address that was refused often waits for each refusal (``callers``).
- Where the app keeps versions, a public read that is kept and young enough is answered here, without the framework.
"""

import json
import re
import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import cache
from threading import Lock, Semaphore
from typing import Final
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from bounty_protocol.errors import DEFAULT_RETRY_AFTER_SECONDS, ServiceError
from prometheus_client import Counter, Histogram

from service_common.log import correlation_id, get_logger
from service_common.web.at_work import AtWork
from service_common.web.bodies import OpenBodies, is_left_unread, may_have_body
from service_common.web.callers import Callers
from service_common.web.outcomes import REFUSED, count_outcome
from service_common.web.problems import envelope

REQUESTS: Final = Counter("service_http_requests_total", "Requests answered", ["route", "method", "status"])
SECONDS: Final = Histogram(
    "service_http_request_seconds",
    "Time to answer; `rate` of its `_sum` is how many are answered at a time",
    ["route", "method"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
"""The finest are for kept reads, which take a millisecond; the widest for a publication that waits for its review."""
SHED: Final = Counter("service_http_requests_shed_total", "Requests refused because too many were being answered")
MAX_IN_FLIGHT: Final = 240
"""Well above the hundred publications that may wait for their review at a time."""
KEPT_FOR_READS: Final = 20
"""Of these: a request with a body never takes them."""
MAX_WAITING: Final = 256
"""Requests that wait to be refused at a time, a thread each; others are refused at once."""
SHED_SECONDS: Final = 0.004
"""The pause of each that is shed: at most 250 a second."""
SLOWED_SECONDS: Final = 0.05
"""The pause of each refusal of a network address that is answered slowly."""
_REFUSED: Final = REFUSED | {"503"}
"""Statuses that count as refusals: the sender could know, or was informed before, that this is not answered."""
ROUTE: Final = "service.route"
"""Where the framework notes the route's template."""
KEPT: Final = "kept"
"""In a template's place where a kept read is answered: no route is looked for."""
_NO_ROUTE: Final = "none"
_IS_SHED: Final = "service.shed"
_ALWAYS: Final = "/healthz"
_ALL, _WITH_BODY = "all", "with a body"
"""Requests answered at a time, by kind."""
_CORRELATION: Final = re.compile(r"[A-Za-z0-9\-]{8,64}")
_EVERYWHERE: Final = (
    ("Access-Control-Allow-Origin", "*"),
    (
        "Access-Control-Expose-Headers",
        "ETag, RateLimit, RateLimit-Policy, Retry-After, X-Correlation-Id, X-Hub, X-Index-Block, X-Index-Time",
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
        self._at_work = AtWork()
        self._waiting = Semaphore(MAX_WAITING)
        self._shedding = Lock()
        self._open = OpenBodies()
        self.kept: Callable[[WSGIEnvironment], Answer | None] = lambda _: None
        self.always: tuple[tuple[str, str], ...] = ()
        """Headers of every answer of this app, refusals included."""

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        began = time.perf_counter()
        given = environ.get("HTTP_X_CORRELATION_ID", "")
        identifier = given if _CORRELATION.fullmatch(given) else secrets.token_hex(16)
        correlation_id.set(identifier)
        is_refused = False

        def start(status: str, headers: list[tuple[str, str]], exc_info: object = None) -> object:
            nonlocal is_refused
            is_refused = status[:3] in _REFUSED
            headers.extend((*_EVERYWHERE, *self.always, ("X-Correlation-Id", identifier)))
            if is_left_unread(environ):
                headers.append(("Connection", "close"))  # the server ends it, and would not say so
            _record(environ, status[:3], time.perf_counter() - began)
            return start_response(status, headers, exc_info)  # type: ignore[arg-type]

        answer = self.kept(environ)
        if answer is None:
            with ExitStack() as places:
                if self._enter(environ, places):
                    body = self._inner(environ, start)  # type: ignore[arg-type]  # its return value is never used
                    if is_refused:
                        self._refuse(environ)
                    return body
            answer = self._shed(environ)
        status, headers, content = answer
        start(status, headers)
        return [content]

    def _enter(self, environ: WSGIEnvironment, places: ExitStack) -> bool:
        """Whether there is a place; what was taken is given back when ``places`` ends."""
        if environ["PATH_INFO"] == _ALWAYS:
            return self._open.receive(environ, None)
        callers, has_body = self._callers, may_have_body(environ)
        if has_body:
            network = None if callers is None else callers.network_of(environ)
            slowed = callers is not None and callers.is_slowed(environ)
            if not self._open.receive(environ, None if network is None else network.widest, slowed=slowed):
                return False
        free = MAX_IN_FLIGHT - self._at_work.count(_ALL)
        if callers is not None and not callers.admit(environ, free, places):
            return False
        if has_body and not self._at_work.begin(_WITH_BODY, MAX_IN_FLIGHT - KEPT_FOR_READS, places):
            return False
        return self._at_work.begin(_ALL, MAX_IN_FLIGHT, places)

    def _refuse(self, environ: WSGIEnvironment) -> None:
        """Count a refusal; where its network address has had too many, make it wait for this one."""
        if self._callers is not None and self._callers.count_refusal(environ):
            self._wait(SLOWED_SECONDS, nullcontext())

    def _shed(self, environ: WSGIEnvironment) -> Answer:
        """The answer to a request for which there is no place, when it is its turn."""
        SHED.inc()
        environ[_IS_SHED] = True
        if self._callers is not None:
            self._callers.count_refusal(environ)
        self._wait(SHED_SECONDS, self._shedding)
        return _overloaded()

    def _wait(self, seconds: float, turn: AbstractContextManager[object]) -> None:
        """Pause when it is this request's turn; not at all where too many wait already."""
        if self._waiting.acquire(blocking=False):
            try:
                with turn:
                    time.sleep(seconds)
            finally:
                self._waiting.release()


def _record(environ: WSGIEnvironment, status: str, seconds: float) -> None:
    if environ["PATH_INFO"] == _ALWAYS:
        return  # a probe is no traffic
    method, route = _method(environ), environ.get(ROUTE, _NO_ROUTE)
    counter, histogram = _series(route, method, status)
    counter.inc()
    histogram.observe(seconds)
    count_outcome(environ, status, is_routed=route not in {_NO_ROUTE, KEPT})
    if _IS_SHED not in environ:
        log.info("answered", route=route, method=method, status=int(status), ms=round(seconds * 1000, 1))


def _method(environ: WSGIEnvironment) -> str:
    method = str(environ["REQUEST_METHOD"])
    return method if method in _METHODS else "other"


@cache
def _series(route: str, method: str, status: str) -> tuple[Counter, Histogram]:
    """The series of one kind of answer; routes, methods and statuses are few."""
    return REQUESTS.labels(route, method, status), SECONDS.labels(route, method)


def _overloaded() -> Answer:
    error = ServiceError("service_overloaded", "This service answers as many requests as it can at the moment.")
    body = json.dumps(envelope(error)).encode()
    headers = [
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
        ("Retry-After", str(DEFAULT_RETRY_AFTER_SECONDS)),
        ("Cache-Control", "no-store"),
    ]
    return "503 Service Unavailable", headers, body
