"""The readiness review as the api sees it: join or start, wait with a bound, map every outcome to its code.

Promises: a review is identified by Poster, page and rubric, so the same work is joined and charged once; quota
charges are rows, exact under concurrency (the Poster's charges are counted under a lock); a review that did not end
in a judgement is not charged. Losing Redis loses the waiting, not the result.
"""

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from redis.exceptions import RedisError
from rq.exceptions import DuplicateJobError
from rq.job import Job
from service_common.clock import iso_utc
from service_common.db import app as t
from service_common.db.engine import reading, writing
from service_common.db.review import reviews
from service_common.domain.reviews import ReviewResult, pack_page, review_id
from service_common.errors import Issue, ServiceError
from service_common.jobs.queues import QueueName, message, open_queue
from service_common.log import get_logger
from service_common.rubric import current_rubric
from service_common.types import Address, Bytes32
from sqlalchemy import delete, func, insert, select, text

from service_api.dependencies import Dependencies

QUOTA_WINDOW_SECONDS = 24 * 3600
JOB_SECONDS = 120
_STEP_SECONDS = 2.0

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class FinishedReview:
    """A review that found the page ready."""

    review_id: str
    rubric_version: str
    rubric_hash: Bytes32


def review(deps: Dependencies, poster: Address, commitment: Bytes32, page: bytes) -> FinishedReview:
    """Return when the page is ready; otherwise raise what the interface says for the outcome."""
    rubric = current_rubric()
    identifier = review_id(poster, commitment, rubric.hash)
    finished = FinishedReview(identifier, rubric.version, rubric.hash)
    if (known := _result(deps, identifier)) is not None:
        return _conclude(known, finished)
    if not deps.review_places.acquire(blocking=False):
        raise ServiceError("service_overloaded", "Too many publications are waiting for their review.", retry_after=10)
    try:
        _charge(deps, identifier, poster)
        job = _enqueue(deps, identifier, poster, commitment, page)
        return _conclude(_wait(deps, identifier, job), finished)
    except RedisError as error:
        log.warning("review queue unavailable", exc_info=error)
        _refund(deps, identifier)
        raise ServiceError(
            "orchestrator_provider_error", "The review could not be queued at the moment.", retry_after=5
        ) from error
    finally:
        deps.review_places.release()


def _result(deps: Dependencies, identifier: str) -> tuple[ReviewResult, list[Issue]] | None:
    with reading(deps.engine) as connection:
        row = connection.execute(
            select(reviews.c.result, reviews.c.issues).where(reviews.c.review_id == identifier)
        ).first()
    if row is None:
        return None
    return ReviewResult(row.result), [Issue(issue["path"], issue["message"]) for issue in row.issues]


def _conclude(known: tuple[ReviewResult, list[Issue]], finished: FinishedReview) -> FinishedReview:
    result, issues = known
    if result is ReviewResult.READY:
        return finished
    raise ServiceError(
        "bounty_challenge_not_ready", "The readiness review found what has to be clearer.", issues=issues
    )


def _charge(deps: Dependencies, identifier: str, poster: Address) -> None:
    """Charge this review once, or raise 429 with the time when a charge runs out of the window."""
    c = t.review_charges.c
    with writing(deps.engine) as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(:poster, 7))"), {"poster": poster})
        if connection.execute(select(c.review_id).where(c.review_id == identifier)).first() is not None:
            return
        since = func.now() - timedelta(seconds=QUOTA_WINDOW_SECONDS)
        charges = connection.execute(
            select(c.charged_at).where(c.poster == poster, c.charged_at > since).order_by(c.charged_at)
        ).scalars()
        times = list(charges)
        if len(times) >= deps.config.review_quota:
            frees_at = times[len(times) - deps.config.review_quota] + timedelta(seconds=QUOTA_WINDOW_SECONDS)
            raise _quota_reached(frees_at)
        connection.execute(insert(t.review_charges).values(review_id=identifier, poster=poster))


def _refund(deps: Dependencies, identifier: str) -> None:
    """Take back the charge of a review that ended without a judgement."""
    with writing(deps.engine) as connection:
        connection.execute(delete(t.review_charges).where(t.review_charges.c.review_id == identifier))


def _enqueue(deps: Dependencies, identifier: str, poster: Address, commitment: Bytes32, page: bytes) -> Job:
    queue = open_queue(QueueName.REVIEWS, deps.redis)
    try:
        return queue.enqueue(
            "service_reviewer.jobs.review",
            message(review_id=identifier, poster=poster, spec_commitment=commitment, page=pack_page(page)),
            job_id=f"review-{identifier[2:]}",
            unique=True,
            job_timeout=JOB_SECONDS,
            result_ttl=300,
            failure_ttl=300,
        )
    except DuplicateJobError:
        job = queue.fetch_job(f"review-{identifier[2:]}")
        if job is not None and not (job.is_failed or job.is_finished):
            return job
        if job is not None:
            job.delete()
        return _enqueue(deps, identifier, poster, commitment, page)


def _wait(deps: Dependencies, identifier: str, job: Job) -> tuple[ReviewResult, list[Issue]]:
    """The result, within the bound; it is read from PostgreSQL, Redis only says when to look."""
    ends = time.monotonic() + deps.config.review_wait_seconds
    while (left := ends - time.monotonic()) > 0:
        ended = job.latest_result(timeout=int(max(1, min(_STEP_SECONDS, left))))
        if (known := _result(deps, identifier)) is not None:
            return known
        if ended is not None:
            _refund(deps, identifier)
            raise _failure(ended.return_value if isinstance(ended.return_value, str) else "")
    raise ServiceError("orchestrator_provider_error", "The review takes longer than this request waits.", retry_after=5)


def _failure(code: str) -> ServiceError:
    """What a review that ended without a judgement is to the Poster."""
    if code == "orchestrator_unconfigured":
        return ServiceError(code, "No review provider is configured.", retry_after=600)
    if code == "invalid_orchestrator_output":
        return ServiceError(code, "The review's result could not be validated.")
    return ServiceError("orchestrator_provider_error", "The review provider failed.", retry_after=10)


def _quota_reached(frees_at: datetime) -> ServiceError:
    wait = max(1, int((frees_at - datetime.now(UTC)).total_seconds()) + 1)
    return ServiceError(
        "publication_review_limit_reached",
        "The review quota of this Poster for the last 24 hours is used up.",
        retry_after=wait,
        retry_not_before=iso_utc(int(frees_at.timestamp()) + 1),
    )
