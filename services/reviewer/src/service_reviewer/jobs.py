"""The jobs of queue ``reviews``.

Promises: idempotent: a review whose record exists is not repeated; a review that comes to a judgement is a row before
the job ends, so losing Redis loses nothing; any other ending is the job's return value, an error code, and no row.
"""

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime

from service_common.db.engine import engine_of_job, reading, writing
from service_common.db.review import reviews
from service_common.domain.challenge import parse_challenge
from service_common.domain.commitments import keccak256, spec_commitment
from service_common.domain.reviews import ReviewResult, review_id, unpack_page
from service_common.errors import ServiceError
from service_common.jobs.queues import check_message
from service_common.log import get_logger
from service_common.rubric import current_rubric
from service_common.types import Address, Bytes32, UnixSeconds, bytes32, parse_address
from sqlalchemy import Engine, select
from sqlalchemy.dialects.postgresql import insert

from service_reviewer.config import read_config
from service_reviewer.providers.port import Material, Provider, ProviderError
from service_reviewer.providers.rules.provider import RulesProvider

DONE = "done"

log = get_logger(__name__)


def review(received: Mapping[str, object]) -> str:
    """Judge one page; ``done`` or the code of what went wrong."""
    check_message(received)
    config = read_config(os.environ)
    poster, page = parse_address(str(received["poster"])), unpack_page(str(received["page"]))
    rubric = current_rubric()
    identifier = review_id(poster, spec_commitment(page), rubric.hash)
    if identifier != received["review_id"]:
        log.error("a review of another rubric than this worker's", review_id=str(received["review_id"]))
        return "orchestrator_provider_error"
    with engine_of_job(config.database_url, application="reviewer") as engine:
        if _exists(engine, identifier):
            return DONE
        try:
            return _judge(engine, make_provider(config.provider), identifier, poster, page)
        except ProviderError as error:
            log.warning("review without judgement", code=error.code, review_id=identifier)
            return error.code


def make_provider(name: str | None) -> Provider:
    """The configured provider."""
    if name is None:
        raise ProviderError("orchestrator_unconfigured")
    return RulesProvider()


def _judge(engine: Engine, provider: Provider, identifier: Bytes32, poster: Address, page: bytes) -> str:
    started = time.monotonic()
    try:
        challenge = parse_challenge(page)
    except ServiceError as error:
        raise ProviderError("invalid_orchestrator_output") from error
    judgement = provider.judge(Material(challenge, page, UnixSeconds(int(datetime.now(UTC).timestamp()))))
    rubric = current_rubric()
    row = {
        "review_id": identifier,
        "poster": poster,
        "spec_commitment": spec_commitment(page),
        "rubric_version": rubric.version,
        "rubric_hash": rubric.hash,
        "provider": provider.name,
        "model": judgement.model,
        "input_hash": bytes32(keccak256(page)),
        "prompt_hash": bytes32(keccak256(judgement.prompt)),
        "output_hash": bytes32(keccak256(judgement.output)),
        "result": (ReviewResult.NOT_READY if judgement.issues else ReviewResult.READY).value,
        "issues": [{"path": issue.path, "message": issue.message} for issue in judgement.issues],
        "duration_ms": int((time.monotonic() - started) * 1000),
    }
    with writing(engine) as connection:
        connection.execute(insert(reviews).values(row).on_conflict_do_nothing())
    return DONE


def _exists(engine: Engine, identifier: Bytes32) -> bool:
    with reading(engine) as connection:
        found = connection.execute(select(reviews.c.review_id).where(reviews.c.review_id == identifier)).first()
    return found is not None
