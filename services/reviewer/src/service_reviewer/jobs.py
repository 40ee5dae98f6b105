"""The jobs of queue ``reviews``.

They may run twice: a review whose record exists is not repeated. A review with a judgement is a row before the job
ends, so losing Redis loses nothing; any other ending is the job's return value, and no row. The rules come first: a
page that they refuse costs nothing. A paid call is taken from the deployment's cap before it is made, and given back if
its outcome is not billed.
"""

import os
from typing import Final

from bounty_protocol.clock import SystemClock
from bounty_protocol.domain.challenge import parse_challenge
from bounty_protocol.domain.commitments import spec_commitment
from bounty_protocol.errors import ServiceError
from bounty_protocol.readiness.material import Material
from bounty_protocol.rubric import current_rubric
from bounty_protocol.types import Bytes32, parse_address
from service_common.counters import counter_by
from service_common.db.engine import engine_of_job
from service_common.jobs import JobKind, Message, Periodic, QueueName, left_to_the_next
from service_common.log import get_logger
from service_common.reviews import DONE, OUTCOMES, Circumstances, ReviewEnding, outcome_of, review_id, unpack_page
from sqlalchemy import Engine

from service_reviewer.config import ReviewerConfig, read_config
from service_reviewer.judgement import Judgement, NoJudgement
from service_reviewer.model import judge_by_model
from service_reviewer.paid_calls import forget_old_calls, give_back_call, take_call
from service_reviewer.records import RequestedReview, forget_old_records, has_record, keep_record, result_of
from service_reviewer.rules import judge_by_rules

PERIODIC: Final = (
    Periodic(JobKind(QueueName.REVIEWS, "service_reviewer.jobs.sweep", run_seconds=600), every_seconds=3_600),
)
REVIEWS: Final = counter_by("outcome", OUTCOMES, "service_reviews_total", "Reviews that ended, by how")

log = get_logger(__name__)


@left_to_the_next
def sweep(_received: Message) -> int:
    """Delete records and counted calls that have served their time; how many."""
    with engine_of_job(read_config(os.environ).database_url, application="reviewer") as engine:
        return forget_old_calls(engine) + forget_old_records(engine)


def review(received: Message) -> dict[str, str | int | None]:
    """Judge one page; how that ended, as ``ReviewEnding``."""
    ending = _review(read_config(os.environ), _request(received))
    if ending.code != DONE:
        REVIEWS.labels(outcome_of(ending.code)).inc()
    return ending.to_json()


JOBS: Final = (review, sweep)


def _request(received: Message) -> RequestedReview:
    circumstances = Circumstances.from_fields(received)
    if circumstances is None:
        raise ValueError("a review without its circumstances")
    return RequestedReview(
        Bytes32(str(received["review_id"])),
        parse_address(str(received["poster"])),
        unpack_page(str(received["page"])),
        circumstances,
        has_bounty=received["has_bounty"] is True,
    )


def _review(config: ReviewerConfig, asked: RequestedReview) -> ReviewEnding:
    if asked.review_id != review_id(asked.poster, spec_commitment(asked.page), current_rubric().hash):
        log.error("a review of a rubric that this worker does not know", review_id=asked.review_id)
        return ReviewEnding("orchestrator_provider_error")
    with engine_of_job(config.database_url, application="reviewer") as engine:
        if has_record(engine, asked.review_id):
            return ReviewEnding()
        try:
            judgement = _judge(config, engine, asked)
            keep_record(engine, asked, judgement)
            REVIEWS.labels(result_of(judgement)).inc()
        except NoJudgement as reason:
            log.warning("review without judgement", code=reason.ending.code, review_id=asked.review_id)
            return reason.ending
    return ReviewEnding()


def _judge(config: ReviewerConfig, engine: Engine, asked: RequestedReview) -> Judgement:
    """The judgement of the rules, or of the configured model where these find nothing."""
    if config.provider is None:
        raise NoJudgement("orchestrator_unconfigured")
    try:
        challenge = parse_challenge(asked.page)
    except ServiceError as error:
        raise NoJudgement("invalid_orchestrator_output") from error
    material = Material(challenge, asked.page, **asked.circumstances.to_fields())  # type: ignore[arg-type]
    judgement = judge_by_rules(material)
    if judgement.issues or config.model is None:
        return judgement
    call = take_call(engine, config.daily_cap, asked.review_id, has_bounty=asked.has_bounty)
    try:
        return judge_by_model(config.model, material, SystemClock())
    except NoJudgement as reason:
        if not reason.spent:
            give_back_call(engine, call)
        raise
