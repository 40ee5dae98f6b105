"""The record of a review: its input, its provider, its result.

Written once, by the job that judged. It has everything that repeating needs, except the bytes of a page that holds what
looks like a secret. A record is kept for ``RECORD_DAYS``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from bounty_protocol.domain.commitments import spec_commitment
from bounty_protocol.errors import Issue
from bounty_protocol.keccak import keccak256
from bounty_protocol.rubric import Rubric
from bounty_protocol.types import Address, Bytes32, bytes32
from service_common.db.engine import reading, writing
from service_common.db.expiry import delete_where
from service_common.db.review import reviews
from service_common.reviews import Circumstances, ReviewResult
from sqlalchemy import Engine, func, select
from sqlalchemy.dialects.postgresql import insert

from service_reviewer.providers.port import Judgement

RECORD_DAYS: Final = 30


@dataclass(frozen=True, slots=True)
class Asked:
    """One review as it was requested."""

    review_id: Bytes32
    poster: Address
    page: bytes
    circumstances: Circumstances
    has_bounty: bool
    """Whether the Poster has a bounty on chain."""


@dataclass(frozen=True, slots=True)
class Record:
    """The kept record of one review."""

    poster: Address
    page: bytes | None
    circumstances: Circumstances | None
    provider: str
    model: str
    rubric_version: str
    rubric_hash: str
    input_hash: str
    prompt_hash: str
    output_hash: str
    result: ReviewResult
    issues: tuple[Issue, ...]


def is_recorded(engine: Engine, review_id: Bytes32) -> bool:
    """Whether this review came to a judgement before."""
    with reading(engine) as connection:
        found = connection.execute(select(reviews.c.review_id).where(reviews.c.review_id == review_id)).first()
    return found is not None


def keep_record(engine: Engine, asked: Asked, rubric: Rubric, judgement: Judgement, duration_ms: int) -> None:
    """Write it, unless another job did in the meantime."""
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
    """The verdict: ready when nothing was found."""
    return ReviewResult.NOT_READY if judgement.issues else ReviewResult.READY


def load_record(engine: Engine, review_id: Bytes32) -> Record | None:
    """The record, if there is one."""
    with reading(engine) as connection:
        row = connection.execute(select(reviews).where(reviews.c.review_id == review_id)).first()
    if row is None:
        return None
    return Record(
        poster=row.poster,
        page=row.page,
        circumstances=Circumstances.from_fields(row.circumstances) if isinstance(row.circumstances, Mapping) else None,
        provider=row.provider,
        model=row.model,
        rubric_version=row.rubric_version,
        rubric_hash=row.rubric_hash,
        input_hash=row.input_hash,
        prompt_hash=row.prompt_hash,
        output_hash=row.output_hash,
        result=ReviewResult(row.result),
        issues=tuple(Issue(one["path"], one["message"]) for one in row.issues),
    )
