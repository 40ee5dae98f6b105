"""The jobs of queue ``reviews``.

They may run twice: a review whose record exists is not repeated. A review with a judgement is a row before the job
ends, so losing Redis loses nothing; any other ending is the job's return value, and no row.
"""

import os
import time
from typing import Final

from bounty_protocol.clock import SystemClock
from bounty_protocol.domain.challenge import parse_challenge
from bounty_protocol.domain.commitments import spec_commitment
from bounty_protocol.errors import ServiceError
from bounty_protocol.readiness.material import Material
from bounty_protocol.rubric import Rubric, current_rubric
from bounty_protocol.types import Bytes32, parse_address
from service_common.counters import counter_by
from service_common.db.engine import engine_of_job
from service_common.jobs import JobKind, Message, Periodic, QueueName, left_to_the_next
from service_common.log import get_logger
from service_common.reviews import (
    DONE,
    OUTCOMES,
    Circumstances,
    ReviewEnding,
    outcome_of,
    review_id,
    unpack_page,
)
from sqlalchemy import Engine

from service_reviewer.budget import DailyCap, forget_old_calls
from service_reviewer.config import ReviewerConfig, read_config
from service_reviewer.providers.bounded import BoundedRules
from service_reviewer.providers.port import Judgement, Provider, ProviderError
from service_reviewer.providers.rules import RulesProvider
from service_reviewer.providers.staged import StagedProvider
from service_reviewer.record import Asked, forget_old_records, is_recorded, keep_record, result_of

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
    ending = _review(received)
    if ending.code != DONE:
        REVIEWS.labels(outcome_of(ending.code)).inc()
    return ending.to_json()


def _review(received: Message) -> ReviewEnding:
    config = read_config(os.environ)
    asked = _asked(received)
    rubric = current_rubric()
    if asked.review_id != review_id(asked.poster, spec_commitment(asked.page), rubric.hash):
        log.error("a review of a rubric that this worker does not know", review_id=asked.review_id)
        return ReviewEnding("orchestrator_provider_error")
    with engine_of_job(config.database_url, application="reviewer") as engine:
        if is_recorded(engine, asked.review_id):
            return ReviewEnding()
        try:
            started = time.monotonic()
            judgement = judge(make_provider(config, engine, asked, rubric), asked.page, asked.circumstances)
            keep_record(engine, asked, rubric, judgement, int((time.monotonic() - started) * 1000))
            REVIEWS.labels(result_of(judgement)).inc()
        except ProviderError as error:
            log.warning("review without judgement", code=error.ending.code, review_id=asked.review_id)
            return error.ending
    return ReviewEnding()


JOBS: Final = (review, sweep)


def make_provider(config: ReviewerConfig, engine: Engine, asked: Asked, rubric: Rubric) -> Provider:
    """The configured provider; one that is paid comes after the rules and out of the deployment's budget."""
    if config.provider is None:
        raise ProviderError("orchestrator_unconfigured")
    rules = BoundedRules(RulesProvider(rubric))
    if config.model is None:
        return rules
    from service_reviewer.providers.model.provider import ModelProvider  # the SDK takes a second to load

    paid = ModelProvider(config.model, rubric, SystemClock())
    return StagedProvider(rules, paid, DailyCap(engine, config.daily_cap, asked.review_id, asked.has_bounty))


def judge(provider: Provider, page: bytes, circumstances: Circumstances) -> Judgement:
    """One judgement of these bytes."""
    try:
        challenge = parse_challenge(page)
    except ServiceError as error:
        raise ProviderError("invalid_orchestrator_output") from error
    return provider.judge(Material(challenge, page, **circumstances.to_fields()))  # type: ignore[arg-type]


def _asked(received: Message) -> Asked:
    circumstances = Circumstances.from_fields(received)
    if circumstances is None:
        raise ValueError("a review without its circumstances")
    return Asked(
        Bytes32(str(received["review_id"])),
        parse_address(str(received["poster"])),
        unpack_page(str(received["page"])),
        circumstances,
        has_bounty=received["has_bounty"] is True,
    )
