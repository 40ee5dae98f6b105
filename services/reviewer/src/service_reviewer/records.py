"""The record of a review: its input, its provider, its result.

Written once, by the job that judged, without the page. A record is kept for ``RECORD_DAYS``.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from bounty_protocol.domain.commitments import spec_commitment
from bounty_protocol.rubric import current_rubric
from bounty_protocol.types import Address, Bytes32
from service_common.db.engine import reading, writing
from service_common.db.expiry import delete_where
from service_common.db.review import reviews
from service_common.reviews import Circumstances, ReviewResult
from sqlalchemy import Engine, exists, func, select
from sqlalchemy.dialects.postgresql import insert

from service_reviewer.judgement import Judgement

RECORD_DAYS: Final = 30


@dataclass(frozen=True, slots=True)
class RequestedReview:
    """One review as it was requested."""

    review_id: Bytes32
    poster: Address
    page: bytes
    circumstances: Circumstances
    has_bounty: bool
    """Whether the Poster has a bounty on chain."""


def has_record(engine: Engine, review_id: Bytes32) -> bool:
    """Whether a review came to a judgement before."""
    with reading(engine) as connection:
        return bool(connection.execute(select(exists().where(reviews.c.review_id == review_id))).scalar_one())


def keep_record(engine: Engine, asked: RequestedReview, judgement: Judgement) -> None:
    """Write it, unless another job did in the meantime."""
    row = {
        "review_id": asked.review_id,
        "poster": asked.poster,
        "spec_commitment": spec_commitment(asked.page),
        "rubric_version": current_rubric().version,
        "provider": judgement.provider,
        "model": judgement.model,
        "result": result_of(judgement).value,
        "issues": [{"path": issue.path, "message": issue.message} for issue in judgement.issues],
    }
    with writing(engine) as connection:
        connection.execute(insert(reviews).values(row).on_conflict_do_nothing())


def forget_old_records(engine: Engine) -> int:
    """Delete the records of reviews so long ago that nobody joins them any more; how many."""
    return delete_where(engine, reviews, reviews.c.finished_at < func.now() - timedelta(days=RECORD_DAYS))


def result_of(judgement: Judgement) -> ReviewResult:
    """Ready if nothing was found."""
    return ReviewResult.NOT_READY if judgement.issues else ReviewResult.READY
