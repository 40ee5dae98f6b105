"""The jobs of queue ``reviews``.

They may run twice: a review whose record exists is not repeated. A review with a judgement is a row before the job
ends, so losing Redis loses nothing; any other ending is the job's return value, and no row. The rules come first: a
page that they refuse costs nothing. A paid call is taken from the deployment's cap before it is made, and given back if
its outcome is not billed.
"""

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from bounty_protocol.clock import SystemClock
from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.readiness.material import Material
from bounty_protocol.rubric import current_rubric
from bounty_protocol.shapes import to_json
from bounty_protocol.wire.reading import read
from service_common.counters import counter_by
from service_common.db.engine import engine_of_job, reading, writing
from service_common.db.expiry import delete_where
from service_common.db.review import reviews
from service_common.jobs import JobKind, Message, Periodic, QueueName
from service_common.log import get_logger
from service_common.reviews import (
    DONE,
    OUTCOMES,
    ReviewEnding,
    ReviewJob,
    ReviewResult,
    outcome_of,
    review_id,
)
from sqlalchemy import Engine, exists, func, select
from sqlalchemy.dialects.postgresql import insert

from service_reviewer.config import ReviewerConfig, read_config
from service_reviewer.judgement import NoJudgement
from service_reviewer.model import judge_by_model
from service_reviewer.paid_calls import forget_old_calls, give_back_call, take_call
from service_reviewer.rules import judge_by_rules

RECORD_DAYS: Final = 30
"""For how long a record is kept; nobody joins such a review any more."""
PERIODIC: Final = (
    Periodic(JobKind(QueueName.REVIEWS, "service_reviewer.jobs.sweep", run_seconds=600), every_seconds=3_600),
)
REVIEWS: Final = counter_by("outcome", OUTCOMES, "service_reviews_total", "Reviews that ended, by how")

log = get_logger(__name__)


def sweep(_received: Message) -> int:
    """Delete records and counted calls that have served their time; return how many."""
    old = reviews.c.finished_at < func.now() - timedelta(days=RECORD_DAYS)
    with engine_of_job(read_config(os.environ).database_url, application="reviewer") as engine:
        return forget_old_calls(engine) + delete_where(engine, reviews, old)


def review(received: Message) -> dict[str, object]:
    """Judge one page; return the outcome as ``ReviewEnding``."""
    ending = _review(read_config(os.environ), read(ReviewJob, received))
    if ending.code != DONE:
        REVIEWS.labels(outcome_of(ending.code)).inc()
    return to_json(ending)


JOBS: Final = (review, sweep)


def _review(config: ReviewerConfig, job: ReviewJob) -> ReviewEnding:
    identifier = job.review_id
    if identifier != review_id(job.poster, spec_commitment(job.page), current_rubric().hash):
        log.error("a review of a rubric that this worker does not know", review_id=identifier)
        return ReviewEnding("orchestrator_provider_error")
    with engine_of_job(config.database_url, application="reviewer") as engine:
        with reading(engine) as connection:
            if connection.execute(select(exists().where(reviews.c.review_id == identifier))).scalar_one():
                return ReviewEnding(DONE)
        try:
            issues = _judge(config, engine, job)
        except NoJudgement as reason:
            log.warning("review without judgement", code=reason.ending.code, review_id=identifier)
            return reason.ending
        row = {"review_id": identifier, "issues": [{"path": each.path, "message": each.message} for each in issues]}
        with writing(engine) as connection:  # unless another job did in the meantime
            connection.execute(insert(reviews).values(row).on_conflict_do_nothing())
    REVIEWS.labels(ReviewResult.NOT_READY if issues else ReviewResult.READY).inc()
    return ReviewEnding(DONE)


def _judge(config: ReviewerConfig, engine: Engine, job: ReviewJob) -> Sequence[Issue]:
    """Return the judgement of the rules, or of the configured model where these find nothing."""
    if config.provider is None:
        raise NoJudgement("orchestrator_unconfigured")
    try:
        challenge = parse_challenge(job.page)
    except ServiceError as error:
        raise NoJudgement("invalid_orchestrator_output") from error
    material = Material(challenge, job.page, job.now, job.reveal_delay, job.token_symbol, job.token_decimals)
    issues = judge_by_rules(material)
    if issues or config.model is None:
        return issues
    call = take_call(engine, config.daily_cap, job.review_id, has_bounty=job.has_bounty)
    try:
        return judge_by_model(config.model, material, SystemClock())
    except NoJudgement as reason:
        if not reason.spent:
            give_back_call(engine, call)
        raise
