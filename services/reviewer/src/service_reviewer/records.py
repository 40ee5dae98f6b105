"""The record of a review: its input, its provider, its result.

Written once, by the job that judged. It has everything that repeating needs, except the bytes of a page that holds what
looks like a secret. A record is kept for ``RECORD_DAYS``.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from bounty_protocol.domain.commitments import spec_commitment
from bounty_protocol.keccak import keccak256
from bounty_protocol.rubric import current_rubric
from bounty_protocol.types import Address, Bytes32, bytes32
from service_common.db.engine import reading, writing
from service_common.db.expiry import delete_where
from service_common.db.review import reviews
from service_common.reviews import Circumstances, ReviewResult
from sqlalchemy import Engine, RowMapping, func, select
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


def find_record(engine: Engine, review_id: Bytes32) -> RowMapping | None:
    """The record of a review that came to a judgement before, a row of ``review.reviews``."""
    with reading(engine) as connection:
        return connection.execute(select(reviews).where(reviews.c.review_id == review_id)).mappings().first()


def keep_record(engine: Engine, asked: RequestedReview, judgement: Judgement, duration_ms: int) -> None:
    """Write it, unless another job did in the meantime."""
    rubric = current_rubric()
    row = {
        "review_id": asked.review_id,
        "poster": asked.poster,
        "spec_commitment": spec_commitment(asked.page),
        "rubric_version": rubric.version,
        "rubric_hash": rubric.hash,
        "provider": judgement.provider,
        "model": judgement.model,
        **hashes_of(asked.page, judgement),
        "result": result_of(judgement).value,
        "issues": [{"path": issue.path, "message": issue.message} for issue in judgement.issues],
        "duration_ms": duration_ms,
        "page": None if judgement.withhold else asked.page,
        "circumstances": asked.circumstances.to_fields(),
    }
    with writing(engine) as connection:
        connection.execute(insert(reviews).values(row).on_conflict_do_nothing())


def forget_old_records(engine: Engine) -> int:
    """Delete the records of reviews so long ago that nobody joins them any more; how many."""
    return delete_where(engine, reviews, reviews.c.finished_at < func.now() - timedelta(days=RECORD_DAYS))


def hashes_of(page: bytes, judgement: Judgement) -> dict[str, Bytes32]:
    """The three hashes that show whether two reviews were the same."""
    return {
        "input_hash": bytes32(keccak256(page)),
        "prompt_hash": bytes32(keccak256(judgement.prompt)),
        "output_hash": bytes32(keccak256(judgement.output)),
    }


def result_of(judgement: Judgement) -> ReviewResult:
    """Ready if nothing was found."""
    return ReviewResult.NOT_READY if judgement.issues else ReviewResult.READY
