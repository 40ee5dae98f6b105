"""``service-api``: the processes of the public API."""

import sys
from collections.abc import Sequence
from contextlib import closing

from prometheus_client import REGISTRY
from service_common import log
from service_common.common_settings import database_url_of
from service_common.db.engine import engine_of_job, make_engine
from service_common.db.schema import AWAIT_SCHEMA, SchemaMissing, await_database, create_schema
from service_common.entry_point import Environment, Process, run_entry_point
from service_common.internal_port import serve_internal_port
from service_common.jobs import QueueName, run_worker
from service_common.start import callers_check, further_checks, report, require_usable
from service_common.timeouts import Figures
from service_common.web.server import serve

from service_api import jobs
from service_api.config import ApiConfig, read_config
from service_api.moderation.decisions import SHOW_AGAIN, WITHHOLD
from service_api.pages.readiness import pages_checks
from service_api.resources import make_resources, readiness_checks
from service_api.storage.room import pending_figures


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one process; return the exit code."""
    processes = {
        "serve": Process("answer HTTP requests", _serve),
        "pages": Process("answer only the pages: reads the database, without Redis and the bucket", _pages),
        "worker": Process("run jobs of the queue artifacts", _worker),
        "withhold": WITHHOLD,
        "show-again": SHOW_AGAIN,
        "migrate": Process("create the schema of all services in an empty database", _migrate),
        "check": Process(
            "try what serve and worker depend on, and print a line for each",
            _check,
            switches={"--pages": "what the process pages depends on"},
        ),
        "await-schema": AWAIT_SCHEMA,
    }
    return run_entry_point("service-api", "The public HTTP API.", processes, arguments)


def _serve(environment: Environment) -> None:
    config = _configured(environment)
    with closing(make_resources(config, application="api-start", pool_size=1)) as resources:
        require_usable(readiness_checks(resources) | further_checks(config.chain))
    serve(
        "service_api.wsgi:application",
        host=config.web.host,
        port=config.web.port,
        internal_port=config.web.internal_port,
    )


def _pages(environment: Environment) -> None:
    config = read_config(environment, pages_alone=True)
    log.configure("pages", config.log_level)
    with engine_of_job(config.database_url, application="pages-start") as engine:
        require_usable(pages_checks(config, engine) | further_checks(config.chain))
    serve(
        "service_api.pages_wsgi:application",
        host=config.web.host,
        port=config.web.port,
        internal_port=config.web.internal_port,
    )


def _worker(environment: Environment) -> None:
    config = _configured(environment)
    checks = readiness_checks(make_resources(config, application="api-health", pool_size=1))
    require_usable(checks | further_checks(config.chain))
    engine = make_engine(config.database_url, application="api-figures", pool_size=1)
    REGISTRY.register(Figures(lambda: pending_figures(engine, config.pending_bytes)))
    serve_internal_port(config.web.internal_port, checks)
    run_worker(QueueName.ARTIFACTS, (config.redis_url, config.database_url), jobs.JOBS, jobs.PERIODIC)


def _migrate(environment: Environment) -> None:
    log.configure("migrate")
    try:
        create_schema(await_database(lambda: database_url_of(environment)))
    except SchemaMissing as error:
        sys.exit(str(error))


def _check(environment: Environment, *, pages: bool) -> None:
    config = read_config(environment, pages_alone=pages)
    further = further_checks(config.chain) | callers_check(config.web.forwarded_hops)
    if pages:
        with engine_of_job(config.database_url, application="pages-check") as engine:
            report(pages_checks(config, engine) | further)
    else:
        with closing(make_resources(config, application="api-check", pool_size=1)) as resources:
            report(readiness_checks(resources) | {"bucket": resources.store.check_deletion} | further)


def _configured(environment: Environment) -> ApiConfig:
    config = read_config(environment)
    log.configure("api", config.log_level)
    return config
