"""``service-delivery``: the processes of the delivery service."""

import json
from collections.abc import Sequence

from bounty_protocol.clock import SystemClock
from service_common import log
from service_common.db.engine import check_database, engine_of_job, make_engine
from service_common.db.hub_facts import FactSource
from service_common.db.waiting import AWAIT_SCHEMA
from service_common.entry_point import Environment, Process, run_entry_point
from service_common.internal_port import Check, serve_internal_port
from service_common.jobs.periodic import start_periodic
from service_common.jobs.queues import QueueName, connect
from service_common.jobs.worker import run_worker
from service_common.memory import keep_memory_private
from service_common.web.hub_witness import CONTRADICTED
from service_common.web.server import serve

from service_delivery import jobs
from service_delivery.config import DeliveryConfig, read_config
from service_delivery.metrics import WRAPS
from service_delivery.usecases.keys import describe_keys


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one process; the exit code."""
    processes = {
        "serve": Process("answer HTTP requests that the api forwards", _serve),
        "worker": Process("run jobs of the queue delivery", _worker),
        "keys": Process("show of each delivery key whether it is current, retired, or may be destroyed", _keys),
        "await-schema": AWAIT_SCHEMA,
    }
    return run_entry_point("service-delivery", "Delivery of the winning work.", processes, arguments)


def _serve(environment: Environment) -> None:
    config = _configured(environment)
    serve(
        "service_delivery.wsgi:application",
        host=config.web.host,
        port=config.web.port,
        internal_port=config.web.internal_port,
        checks=_checks(config),
    )


def _worker(environment: Environment) -> None:
    config = _configured(environment)
    serve_internal_port(config.web.internal_port, _checks(config) | {"redis": connect(config.redis_url).ping})
    start_periodic(jobs.PERIODIC, connect(config.redis_url))  # not the worker's: it waits longer on its connections
    counters = (WRAPS, CONTRADICTED)
    run_worker([QueueName.DELIVERY], connect(config.redis_url, answer_seconds=None), counters, module=jobs.__name__)


def _keys(environment: Environment) -> None:
    config = _configured(environment)
    with (
        engine_of_job(config.database_url, application="delivery-keys") as engine,
        FactSource.of(engine, config.chain, SystemClock()).open() as facts,
    ):
        for described in describe_keys(facts, config.keyring, config.key_grace_seconds):
            print(json.dumps(described))  # noqa: T201  # what the command is for


def _configured(environment: Environment) -> DeliveryConfig:
    keep_memory_private()
    config = read_config(environment)
    log.configure("delivery", config.log_level)
    return config


def _checks(config: DeliveryConfig) -> dict[str, Check]:
    """The readiness checks of this process's dependencies."""
    engine = make_engine(config.database_url, application="delivery-health", pool_size=1)
    rpc = config.chain.rpc()
    return {
        "database": lambda: check_database(engine),
        "chain": lambda: config.chain.check(rpc),
    }
