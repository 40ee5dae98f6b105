"""``service-reviewer``: the processes of the readiness reviewer."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from bounty_protocol.types import parse_bytes32
from service_common import log
from service_common.db.engine import check_database, engine_of_job, make_engine
from service_common.db.waiting import AWAIT_SCHEMA
from service_common.entry_point import Environment, Process, run_entry_point
from service_common.internal_port import Check, serve_internal_port
from service_common.jobs import QueueName, check_redis, connect, run_worker
from service_common.web.server import serve

from service_reviewer import jobs
from service_reviewer.app import check_rules
from service_reviewer.config import ReviewerConfig, read_config, read_serving_config
from service_reviewer.replay import ReplayError, replay


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one process; the exit code."""
    processes = {
        "worker": Process("run jobs of the queue reviews", _worker),
        "serve": Process("answer HTTP requests: the rubric, findings of the rules, health and metrics", _serve),
        "await-schema": AWAIT_SCHEMA,
        "replay": Process(
            "judge a recorded page again and print, as one JSON line, what is the same",
            _replay,
            {"review_id": "0x and 64 hex digits", "--page": "the page's file, where its bytes were not kept"},
        ),
    }
    return run_entry_point("service-reviewer", "The readiness reviewer.", processes, arguments)


def _worker(environment: Environment) -> None:
    config = read_config(environment)
    log.configure("reviewer", config.log_level)
    serve_internal_port(config.internal_port, _checks(config))
    run_worker(QueueName.REVIEWS, (config.redis_url, config.database_url), jobs.JOBS, jobs.PERIODIC)


def _serve(environment: Environment) -> None:
    config = read_serving_config(environment)
    log.configure("reviewer", config.log_level)
    serve(
        "service_reviewer.wsgi:application",
        host=config.host,
        port=config.port,
        internal_port=config.internal_port,
        checks={"rules": check_rules},
    )


def _replay(environment: Environment, review_id: str, page: str | None) -> None:
    config = read_config(environment)
    log.configure("reviewer", config.log_level)
    try:
        with engine_of_job(config.database_url, application="reviewer-replay") as engine:
            outcome = replay(config, engine, parse_bytes32(review_id), Path(page) if page else None)
    except (ReplayError, ValueError) as error:
        sys.exit(f"service-reviewer replay: {error}")
    print(json.dumps(outcome))  # noqa: T201
    if outcome["recorded"] != outcome["repeated"]:
        sys.exit(1)


def _checks(config: ReviewerConfig) -> dict[str, Check]:
    """The readiness checks of this process's dependencies."""
    engine = make_engine(config.database_url, application="reviewer-health", pool_size=1)
    redis = connect(config.redis_url)
    return {"database": lambda: check_database(engine), "redis": lambda: check_redis(redis)}
