"""Questions to the API over HTTP: each bounded in time, bytes and number, and kept for a moment.

What was answered is kept for about a second and then asked again with its ETag, so that an unchanged answer costs no
bytes and no parsing. When the API does not answer, or what it answers cannot be read, the last good answer is shown for
up to ten minutes with the time at which it was good; after that, and for what was never answered, ``ApiUnavailable``.
A failure is remembered for a second, for its question, and where nothing else was answered meanwhile for all; only so
many questions wait at a time: a silent API holds few threads, and pages that need nothing from it stay up.

The API is asked on behalf of each reader, and refuses who asks for too much before others. Such a reader alone is shown
the last good answers for it, or told that the API is too busy.
"""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from threading import BoundedSemaphore, Lock
from typing import Any, Final, Generic, TypeVar, cast

import urllib3
from bounty_protocol.clock import Clock
from bounty_protocol.errors import ServiceError
from bounty_protocol.foreign_json import read_object
from bounty_protocol.timely import HttpAnswer, TimelyHttp
from bounty_protocol.types import UnixSeconds
from bounty_protocol.vanished import NEAR_SECONDS, socket_options
from service_common.log import correlation_id, get_logger
from service_common.recent import Recent

from service_web.metrics import ANSWERS, ApiAnswer

T = TypeVar("T")
YOUNG_SECONDS: Final = 1.0
"""For how long an answer is shown without asking again; nothing that is twice as old is, while the API answers."""
STALE_SECONDS: Final = 600.0
FAILED_SECONDS: Final = 1.0
CONNECT_SECONDS: Final = 1.0
ANSWER_SECONDS: Final = 6.0
"""For a whole answer, however slowly its bytes come; the API itself may take ten for a statement of its database."""
MAX_ANSWER_BYTES: Final = 2 * 1024 * 1024
"""The limit of a query's answer; the longest page with a thousand Submissions takes less than one MiB."""
MAX_AT_ONCE: Final = 32
LARGE_BYTES: Final = 32 * 1024
MAX_LARGE_AT_ONCE: Final = 2
"""Answers of more than ``LARGE_BYTES`` that are read into values at a time: what these may take bounds the memory."""
MAX_KEPT: Final = 2_048
MAX_KEPT_BYTES: Final = 16 * 1024 * 1024
"""Of answers as they came; what is made of them takes a few times as much."""

log = get_logger(__name__)


class ApiUnavailable(Exception):
    """The API did not answer in time, or nothing that can be read."""


class ApiOverloaded(ApiUnavailable):
    """The API answers as many requests, of this network address or of all, as it can; it counts that itself."""

    def __init__(self, retry_after: int | None) -> None:
        super().__init__()
        self.retry_after = retry_after


class ApiMalformed(ApiUnavailable):
    """The API answers something else than what was asked for."""


@dataclass(slots=True)
class Reader:
    """On whose behalf the API is asked in a request, by all threads that work on it: ``forwarded_for`` as the
    deployment's own proxies state it, empty where nobody's. Once it ``is_refused``, the API is asked nothing more;
    ``retry_after`` are the seconds that the API stated. What it was given is noted: ``unconfirmed`` is when each answer
    was true that the API could not confirm again, and it ``is_lacking`` where one was not to be had."""

    forwarded_for: str = ""
    is_refused: bool = False
    retry_after: int | None = None
    unconfirmed: list[UnixSeconds] = field(default_factory=list)
    is_lacking: bool = False


reader: ContextVar[Reader | None] = ContextVar("reader", default=None)
"""That of this request."""


def current_reader() -> Reader:
    """The reader of this request; outside of one, nobody."""
    return reader.get() or Reader()


class ApiAbsent(Exception):
    """The API answers that there is no such thing."""


class ApiRefused(Exception):
    """The API answers that it does not take this question: what was asked for cannot be."""


@dataclass(frozen=True, slots=True)
class KeptAnswer(Generic[T]):
    """A parsed answer. ``good_at`` is when the API last confirmed it; ``is_stale``: it could not be confirmed since."""

    value: T
    etag: str | None
    size: int
    good_at: UnixSeconds
    good_since: float
    is_stale: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A GET of a path, or a POST where there is a body."""

    path: str
    body: bytes | None = None


class ApiReader:
    """One process's questions. Thread-safe.

    ``hub`` is the header by which an API names the Hub of these pages: one that names another is as good as none, since
    the same number is another bounty there. The pages of two deployments on one cluster differ in one address.
    """

    def __init__(
        self, origin: str, clock: Clock, http: TimelyHttp | None = None, hub: tuple[str, str] | None = None
    ) -> None:
        self._origin, self._clock, self._hub = origin, clock, hub
        self._http = http or TimelyHttp(
            ANSWER_SECONDS,
            maxsize=MAX_AT_ONCE,
            timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=ANSWER_SECONDS),
            socket_options=socket_options(NEAR_SECONDS),
        )
        self._places = BoundedSemaphore(MAX_AT_ONCE)
        self._large = BoundedSemaphore(MAX_LARGE_AT_ONCE)
        self._failed: Recent[Question | None, bool] = Recent(FAILED_SECONDS, MAX_KEPT, clock)
        """Questions, and None for all of them."""
        self._answered_at = float("-inf")
        self._lock = Lock()
        self._good: OrderedDict[Question, KeptAnswer[Any]] = OrderedDict()
        self._good_bytes = 0
        self._young: Recent[Question, KeptAnswer[Any]] = Recent(
            YOUNG_SECONDS, MAX_KEPT, clock, weigh=lambda answer: answer.size, most_weight=MAX_KEPT_BYTES
        )

    def ask(self, question: Question, parse: Callable[[bytes], T]) -> KeptAnswer[T]:
        """The answer to a question, parsed by ``parse``, which raises ``ValueError`` for what it cannot read.

        Raises ``ApiAbsent`` for 404 and 451, ``ApiRefused`` for 400, ``ServiceError`` for 429 (the
        reader's budget), ``ApiUnavailable`` otherwise.
        """
        asking = current_reader()
        try:
            found = self._found(question, parse)
        except ApiUnavailable:
            asking.is_lacking = True
            raise
        if found.is_stale:
            asking.unconfirmed.append(found.good_at)
        return found

    def _found(self, question: Question, parse: Callable[[bytes], T]) -> KeptAnswer[T]:
        try:
            return cast("KeptAnswer[T]", self._young.get(question, lambda: self._make(question, parse)))
        except ApiOverloaded:
            if (known := self._last_good(question)) is None:
                raise
            return known

    def _make(self, question: Question, parse: Callable[[bytes], T]) -> KeptAnswer[T]:
        """What is kept for all readers for a moment."""
        with self._lock:
            known = self._good.get(question)
        try:
            found = self._send(question, parse, known)
        except (ApiAbsent, ApiRefused):
            self._forget(question)
            raise
        except ApiOverloaded:
            raise
        except ApiUnavailable:
            if (last := self._last_good(question)) is None:
                raise
            return last
        self._keep(question, found)
        return found

    def _last_good(self, question: Question) -> KeptAnswer[Any] | None:
        """The last good answer, unless it is too old to be shown."""
        with self._lock:
            known = self._good.get(question)
        if known is None or self._clock.monotonic() - known.good_since > STALE_SECONDS:
            return None
        return replace(known, is_stale=True)

    def _send(self, question: Question, parse: Callable[[bytes], T], known: KeptAnswer[T] | None) -> KeptAnswer[T]:
        asking = current_reader()
        if asking.is_refused:
            raise ApiOverloaded(asking.retry_after)
        if self._failed.young(None) or self._failed.young(question):
            raise ApiUnavailable
        if not self._places.acquire(timeout=CONNECT_SECONDS):
            raise ApiUnavailable
        good_at, good_since = self._clock.now(), self._clock.monotonic()
        try:
            answer = self._exchange(question, asking, None if known is None else known.etag)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            self._failed.get(question, lambda: True)
            if self._answered_at < good_since:  # else the API answers, and only this question is too much for it
                self._failed.get(None, lambda: True)
            ANSWERS.labels(ApiAnswer.FAILED).inc()
            log.warning("the API does not answer", error=type(error).__name__)
            raise ApiUnavailable from error
        finally:
            self._places.release()
        self._answered_at = self._clock.monotonic()
        if self._hub is not None:
            name, wanted = self._hub
            if (served := answer.headers.get(name, wanted)).lower() != wanted:
                ANSWERS.labels(ApiAnswer.MALFORMED).inc()
                log.error("the API serves another Hub", served=served[:100], wanted=wanted)
                raise ApiUnavailable
        if answer.status == 304 and known is not None:
            ANSWERS.labels(ApiAnswer.UNCHANGED).inc()
            return replace(known, good_at=good_at, good_since=good_since, is_stale=False)
        _raise_for(answer, asking)
        try:
            with self._large if len(answer.body) > LARGE_BYTES else nullcontext():
                value = parse(answer.body)
        except ValueError as error:
            ANSWERS.labels(ApiAnswer.MALFORMED).inc()
            log.warning("an answer of the API cannot be read", path=question.path, reason=str(error)[:200])
            raise ApiMalformed from error
        ANSWERS.labels(ApiAnswer.NEW).inc()
        return KeptAnswer(value, answer.headers.get("ETag"), len(answer.body), good_at, good_since)

    def _exchange(self, question: Question, asking: Reader, etag: str | None) -> HttpAnswer:
        """The answer; a slow or endless answer is given up."""
        method = "GET" if question.body is None else "POST"
        headers = {"X-Correlation-Id": correlation_id.get() or "web-pages", "Accept-Encoding": "identity"}
        headers |= {"Content-Type": "application/json"} if question.body is not None else {}
        headers |= {"If-None-Match": etag} if etag is not None else {}
        headers |= {"X-Forwarded-For": asking.forwarded_for} if asking.forwarded_for else {}
        exchange = partial(
            self._http.exchange,
            method,
            self._origin + question.path,
            most_bytes=MAX_ANSWER_BYTES,
            body=question.body,
            headers=headers,
        )
        try:
            return exchange()
        except (urllib3.exceptions.ProtocolError, urllib3.exceptions.ConnectTimeoutError):
            # The pod of a kept connection is gone, and the others of that pod are no better: a new connection
            # reaches one that is there. Every question only reads, so that it may be asked twice.
            self._http.clear()
            return exchange()

    def _keep(self, question: Question, found: KeptAnswer[T]) -> None:
        with self._lock:
            self._drop(question)
            self._good[question] = found
            self._good_bytes += found.size
            while len(self._good) > MAX_KEPT or self._good_bytes > MAX_KEPT_BYTES:
                self._drop(next(iter(self._good)))

    def _forget(self, question: Question) -> None:
        with self._lock:
            self._drop(question)

    def _drop(self, question: Question) -> None:
        if (former := self._good.pop(question, None)) is not None:
            self._good_bytes -= former.size


def _raise_for(answer: HttpAnswer, asking: Reader) -> None:
    status = answer.status
    if status == 200:
        return
    if status == 429:
        ANSWERS.labels(ApiAnswer.SPENT).inc()
        message = "The reader's budget at the API is used up."
        raise ServiceError("rate_limit_reached", message, retry_after=answer.retry_after)
    if status in {404, 451}:  # what is withheld is forgotten here, too
        ANSWERS.labels(ApiAnswer.ABSENT).inc()
        raise ApiAbsent
    ANSWERS.labels(ApiAnswer.REFUSED).inc()
    if status == 400:
        raise ApiRefused
    if status == 503 and _is_overloaded(answer.body):
        asking.is_refused, asking.retry_after = True, answer.retry_after
        raise ApiOverloaded(answer.retry_after)
    log.warning("the API refuses", status=status)
    raise ApiUnavailable


def _is_overloaded(body: bytes) -> bool:
    """Whether the API refuses for too many requests."""
    try:
        error = read_object(body).get("error")
    except ValueError:
        return False
    return isinstance(error, dict) and error.get("code") == "service_overloaded"
