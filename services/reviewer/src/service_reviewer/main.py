"""``service-reviewer``: the processes of the readiness reviewer."""

from collections.abc import Sequence

from service_common import log
from service_common.db.engine import make_engine
from service_common.db.schema import AWAIT_SCHEMA, check_schema
from service_common.entry_point import Environment, Process, run_entry_point
from service_common.internal_port import Check, serve_internal_port
from service_common.jobs import QueueName, check_redis, connect, run_worker
from service_common.start import report, require_usable
from service_common.web.server import serve

from service_reviewer import jobs
from service_reviewer.config import ReviewerConfig, read_config, read_serving_config


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one process; return the exit code."""
    processes = {
        "worker": Process("run jobs of the queue reviews", _worker),
        "serve": Process("answer HTTP requests: issues found by the rules, health and metrics", _serve),
        "check": Process("try what the worker depends on, and print a line for each", _check),
        "await-schema": AWAIT_SCHEMA,
    }
    return run_entry_point("service-reviewer", "The readiness reviewer.", processes, arguments)


def _worker(environment: Environment) -> None:
    config = read_config(environment)
    log.configure("reviewer", config.log_level)
    checks = _checks(config)
    require_usable(checks)
    serve_internal_port(config.internal_port, checks)
    run_worker(QueueName.REVIEWS, (config.redis_url, config.database_url), jobs.JOBS, jobs.PERIODIC)


def _serve(environment: Environment) -> None:
    config = read_serving_config(environment)
    log.configure("reviewer", config.log_level)
    serve(
        "service_reviewer.wsgi:application",
        host=config.host,
        port=config.port,
        internal_port=config.internal_port,
    )


def _check(environment: Environment) -> None:
    report(_checks(read_config(environment)))


def _checks(config: ReviewerConfig) -> dict[str, Check]:
    """Return the readiness checks of this process's dependencies."""
    engine = make_engine(config.database_url, application="reviewer-health", pool_size=1)
    redis = connect(config.redis_url)
    return {"database": lambda: check_schema(engine, "service_reviewer"), "redis": lambda: check_redis(redis)}
