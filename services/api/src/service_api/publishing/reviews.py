"""The readiness review as the api sees it: join or start, wait with a bound, map every outcome to its code.

A review is identified by Poster, page and rubric, so the same work is joined and charged once. A review that does not
end in a judgement is not charged, whichever request was waiting for it. Losing Redis loses the waiting, not the result.
"""

import time
from typing import Final

from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.rubric import current_rubric
from bounty_protocol.shapes import to_json
from bounty_protocol.types import Bytes32
from bounty_protocol.wire.publication import ReviewReference
from prometheus_client import Histogram
from redis import Redis
from redis.exceptions import RedisError
from service_common.counters import counter_by
from service_common.db.engine import reading
from service_common.db.review import reviews
from service_common.jobs import JobKind, QueueName, enqueue, is_pending, message, wait_for_result
from service_common.log import get_logger
from service_common.places import Places
from service_common.reviews import (
    DONE,
    OUTCOMES,
    ReviewEnding,
    ReviewJob,
    ReviewResult,
    ending_of,
    outcome_of,
)
from service_common.web.callers import Callers
from sqlalchemy import Engine, select

from service_api.config import ApiConfig
from service_api.publishing.review_charges import PENDING, charge, confirm, limit_reached, refund

REVIEW: Final = JobKind(
    QueueName.REVIEWS,
    "service_reviewer.jobs.review",
    run_seconds=120,
    kept_seconds=300,
    waiting_seconds=int(PENDING.total_seconds()),  # as long as it is charged: without a worker, pages would fill Redis
)
MAX_WAITING: Final = 100
"""Publications that one process has wait for their review."""
STEP_SECONDS: Final = 5.0
"""How long one look for a review's result lasts."""
_MAX_WAIT_SECONDS = 3_600
PUBLICATIONS: Final = counter_by(
    "outcome",
    OUTCOMES,
    "service_publications_total",
    "Publications answered, by the outcome of their review",
)
PUBLICATION_SECONDS: Final = Histogram(
    "service_publication_review_seconds",
    "Time a publication waited for its review",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60),
)

log = get_logger(__name__)


class Reviews:
    """The reviews of one deployment's pages. Thread-safe."""

    def __init__(self, engine: Engine, redis: Redis, callers: Callers, config: ApiConfig) -> None:
        self._engine, self._redis, self._callers, self._config = engine, redis, callers, config
        self._places = Places()

    def require_ready(self, asked: ReviewJob) -> ReviewReference:
        """Return if the page is ready; otherwise raise the error that the interface defines for the outcome. Counted
        and timed.
        """
        try:
            with PUBLICATION_SECONDS.time():
                finished = self._review(asked)
        except ServiceError as error:
            PUBLICATIONS.labels(outcome_of(error.code)).inc()
            raise
        PUBLICATIONS.labels(ReviewResult.READY).inc()
        return finished

    def _review(self, asked: ReviewJob) -> ReviewReference:
        known = self._result(asked.review_id)
        if known is None:
            words = "Too many publications are waiting for their review."
            full = ServiceError("service_overloaded", words, retry_after=10)
            with self._places.hold("waiting", MAX_WAITING, refusal=full):
                known = self._started_or_joined(asked)
        if known:
            refusal = "The readiness review found points that must be clearer."
            raise ServiceError("bounty_challenge_not_ready", refusal, issues=known)
        rubric = current_rubric()
        return ReviewReference(asked.review_id, rubric.version, rubric.hash)

    def _started_or_joined(self, asked: ReviewJob) -> list[Issue]:
        """Return the issues of a review that is started or joined; refund an attempt without a result."""
        attempt = charge(self._engine, self._config.review_quota, asked.review_id, asked.poster)
        try:
            self._enqueue(asked)
        except ServiceError:
            refund(self._engine, attempt)
            raise
        except RedisError as error:
            log.warning("review queue unavailable", exc_info=error)
            refund(self._engine, attempt)
            refusal = "The review could not be queued at the moment."
            raise ServiceError("orchestrator_provider_error", refusal, retry_after=5) from error
        known = self._wait(asked.review_id)
        if isinstance(known, ReviewEnding):
            refund(self._engine, attempt)
            raise self._failure(known)
        if attempt is None:
            confirm(self._engine, asked.review_id, asked.poster)
        return known

    def _result(self, identifier: str) -> list[Issue] | None:
        """Return the issues found, none for a ready page; None while there is no judgement."""
        found = select(reviews.c.issues).where(reviews.c.review_id == identifier)
        with reading(self._engine) as connection:
            issues = connection.execute(found).scalar()
        return None if issues is None else [Issue(each["path"], each["message"]) for each in issues]

    def _enqueue(self, asked: ReviewJob) -> None:
        """Enqueue this review unless it is in progress."""
        job_id = _job_id(asked.review_id)
        if is_pending(self._redis, self._engine, REVIEW, job_id):
            return
        # Charge the caller who starts it, not the first one to ask.
        self._callers.charge(self._config.budgets.reviews_of_address)
        enqueue(self._redis, self._engine, REVIEW, job_id, message(**to_json(asked)))

    def _wait(self, identifier: Bytes32) -> list[Issue] | ReviewEnding:
        """Return the result within the bound, read from PostgreSQL: Redis only signals when to read, and may be
        unavailable meanwhile.
        """
        ends = time.monotonic() + self._config.review_wait_seconds
        while (left := ends - time.monotonic()) > 0:
            try:
                step = int(max(1, min(STEP_SECONDS, left)))
                ended = wait_for_result(self._redis, _job_id(identifier), step)
            except RedisError as error:
                log.warning("review queue unavailable", exc_info=error)
                ended = None
                time.sleep(min(STEP_SECONDS, left))
            if (known := self._result(identifier)) is not None:
                return known
            if ended is not None:
                return ending_of(ended.return_value)
        raise ServiceError(
            "orchestrator_provider_error", "The review takes longer than this request waits.", retry_after=5,
            is_failure=False,  # the ordinary answer of a long page: the next request joins the review
        )  # fmt: skip

    def _failure(self, ending: ReviewEnding) -> ServiceError:
        """Return the Poster's answer for a review that ended without a judgement."""
        code = ending.code if ending.code != DONE else "invalid_orchestrator_output"
        if code == "publication_review_limit_reached" and ending.retry_at is not None:
            reason = "The service's reviews for the last 24 hours are used up."
            return limit_reached(reason, ending.retry_at)
        if code == "orchestrator_unconfigured":
            return ServiceError(code, "No review provider is configured.", retry_after=600)
        if code == "invalid_orchestrator_output":
            return ServiceError(code, "The review's result could not be validated.")
        wait = max(1, min(_MAX_WAIT_SECONDS, ending.retry_after or 10))
        return ServiceError("orchestrator_provider_error", "The review provider failed.", retry_after=wait)


def _job_id(identifier: Bytes32) -> str:
    return f"review-{identifier[2:]}"
