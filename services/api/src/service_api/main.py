"""``service-api``: the processes of the public API."""

import sys
from collections.abc import Sequence

from bounty_protocol.clock import SystemClock
from bounty_protocol.domain.frontmatter import MAX_DOCUMENT_BYTES
from bounty_protocol.errors import ServiceError
from prometheus_client import REGISTRY
from service_common import log
from service_common.bounded import BoundedCollector
from service_common.common_settings import database_url_of
from service_common.db.engine import check_database, engine_of_job, make_engine
from service_common.db.schema import SchemaMissing, await_database, create_schema
from service_common.db.waiting import AWAIT_SCHEMA
from service_common.entry_point import Environment, Process, run_entry_point
from service_common.internal_port import Check, serve_internal_port
from service_common.jobs.periodic import start_periodic
from service_common.jobs.queues import QueueName, connect
from service_common.jobs.worker import run_worker
from service_common.memory import keep_memory_private
from service_common.web.server import serve

from service_api import jobs
from service_api.backup.commands import FETCH, STORE
from service_api.certificate import CertificateCollector
from service_api.config import ApiConfig, read_config
from service_api.dependencies import make_dependencies
from service_api.metrics import CIPHERTEXT_BYTES, CIPHERTEXTS, DefectCollector, PendingCollector, WithheldCollector
from service_api.public_reads import FIGURES_MS, FIGURES_SECONDS, Replica, ReplicaCollector
from service_api.usecases.defects import list_defects
from service_api.usecases.inspecting import look_again
from service_api.usecases.putting_back import NotNamed, put_back
from service_api.withholding.commands import SHOW_AGAIN, WITHHELD, WITHHOLD


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one process; the exit code."""
    processes = {
        "serve": Process("answer HTTP requests", _serve),
        "worker": Process("run jobs of the queue artifacts", _worker),
        "webhooks": Process("run jobs of the queue webhooks: send facts to those who registered for them", _webhooks),
        "defects": Process(
            "print what the inspections found of what is kept, by bounty",
            _defects,
            switches={"--again": "look at each now, before it is printed: what was repaired is printed no more"},
        ),
        "put-back": Process(
            "keep a page, an envelope or a Verdict again, from its bytes at standard input, where the chain names them",
            _put_back,
        ),
        "withhold": WITHHOLD,
        "show-again": SHOW_AGAIN,
        "withheld": WITHHELD,
        "migrate": Process("create the schema of all services in an empty database", _migrate),
        "await-schema": AWAIT_SCHEMA,
        "store-dump": STORE,
        "fetch-dump": FETCH,
    }
    return run_entry_point("service-api", "The public HTTP API.", processes, arguments)


def _serve(environment: Environment) -> None:
    config = _configured(environment)
    serve(
        "service_api.wsgi:application",
        host=config.web.host,
        port=config.web.port,
        internal_port=config.web.internal_port,
        checks=_checks(config),
    )


def _worker(environment: Environment) -> None:
    config = _configured(environment)
    engine = make_engine(config.database_url, application="api-figures", pool_size=1)
    REGISTRY.register(BoundedCollector(PendingCollector(engine, config.pending_bytes)))
    REGISTRY.register(BoundedCollector(DefectCollector(engine)))
    REGISTRY.register(BoundedCollector(WithheldCollector(engine)))
    REGISTRY.register(BoundedCollector(CertificateCollector(config.web.public_host, SystemClock())))
    if config.database_read_url is not None:
        replica = Replica(
            config.database_read_url,
            engine,
            SystemClock(),
            application="api-figures",
            pool_size=1,
            statement_ms=FIGURES_MS,
        )
        figures = ReplicaCollector(replica, engine, config.chain.chain_id)
        REGISTRY.register(BoundedCollector(figures, FIGURES_SECONDS))
    serve_internal_port(config.web.internal_port, _checks(config))
    start_periodic(jobs.PERIODIC, connect(config.redis_url))  # not the worker's: it waits longer on its connections
    counters = (CIPHERTEXTS, CIPHERTEXT_BYTES)
    run_worker([QueueName.ARTIFACTS], connect(config.redis_url, answer_seconds=None), counters, module=jobs.__name__)


def _webhooks(environment: Environment) -> None:
    from service_api.webhooks import jobs as webhooks
    from service_api.webhooks import metrics  # what it sends with is loaded once, before it forks for a job
    from service_api.webhooks.config import read_config as read_webhooks_config

    config = read_webhooks_config(environment)
    keep_memory_private()
    log.configure("webhooks", config.log_level)
    redis = connect(config.redis_url)
    engine = make_engine(config.database_url, application="webhooks-health", pool_size=1)
    REGISTRY.register(BoundedCollector(metrics.WebhookCollector(engine, config.chain_id)))
    checks: dict[str, Check] = {"redis": redis.ping, "database": lambda: check_database(engine)}
    serve_internal_port(config.internal_port, checks)
    webhooks.start_enqueuing(connect(config.redis_url))  # not the worker's: it waits longer on its connections
    counters = (metrics.ATTEMPTS, metrics.SWITCHED_OFF)
    connection = connect(config.redis_url, answer_seconds=None)
    run_worker([QueueName.WEBHOOKS], connection, counters, module=webhooks.__name__, in_steps={webhooks.DELIVER})


def _defects(environment: Environment, *, again: bool) -> None:
    log.configure("defects")
    if again:
        looking = make_dependencies(read_config(environment), application="defects", pool_size=2)
        try:
            look_again(looking)
        except ServiceError as error:
            sys.exit(f"not looked at all of it: {error.message}")
    url = database_url_of(environment)
    for line in list_defects(make_engine(url, application="defects", pool_size=1)):
        print(line)  # noqa: T201


def _put_back(environment: Environment) -> None:
    log.configure("put-back")
    url = database_url_of(environment)
    content = sys.stdin.buffer.read(MAX_DOCUMENT_BYTES + 1)
    try:
        with engine_of_job(url, application="put-back") as engine:
            for each in put_back(engine, content):
                print(f"{each} is as its hash on chain says")  # noqa: T201
    except NotNamed as error:
        sys.exit(f"nothing was changed: {error}")


def _migrate(environment: Environment) -> None:
    log.configure("migrate")
    try:
        create_schema(await_database(lambda: database_url_of(environment)))
    except SchemaMissing as error:
        sys.exit(str(error))


def _configured(environment: Environment) -> ApiConfig:
    config = read_config(environment)
    log.configure("api", config.log_level)
    return config


def _checks(config: ApiConfig) -> dict[str, Check]:
    """The readiness checks of this process's dependencies."""
    dependencies = make_dependencies(config, application="api-health", pool_size=1)
    return {
        "database": lambda: check_database(dependencies.engine),
        "redis": dependencies.redis.ping,
        "chain": lambda: config.chain.check(dependencies.rpc),
        "storage": dependencies.store.check,
    }
