"""``service-delivery``: the processes of the delivery service."""

import json
from collections.abc import Sequence

from bounty_protocol.clock import SystemClock
from service_common import log
from service_common.db.engine import engine_of_job
from service_common.db.hub_facts import FactSource
from service_common.db.schema import AWAIT_SCHEMA
from service_common.entry_point import Environment, Process, run_entry_point
from service_common.start import report, require_usable
from service_common.web.server import serve

from service_delivery.app import start_checks
from service_delivery.config import DeliveryConfig, read_config
from service_delivery.keys import describe_keys
from service_delivery.memory import keep_memory_private
from service_delivery.rotation import rewrap


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one process; return the exit code."""
    processes = {
        "serve": Process("answer HTTP requests that the api forwards; delete losing wraps every minute", _serve),
        "keys": Process("show whether each delivery key is current, retired, or may be destroyed", _keys),
        "rewrap": Process("after a rotation: wrap what is stored to the current key, and count the rest", _rewrap),
        "check": Process("try what serve depends on, and print a line for each", _check),
        "await-schema": AWAIT_SCHEMA,
    }
    return run_entry_point("service-delivery", "Delivery of the winning work.", processes, arguments)


def _serve(environment: Environment) -> None:
    config = _configured(environment)
    with engine_of_job(config.database_url, application="delivery-start") as engine:
        require_usable(start_checks(config, engine))
    serve(
        "service_delivery.wsgi:application",
        host=config.web.host,
        port=config.web.port,
        internal_port=config.web.internal_port,
    )


def _keys(environment: Environment) -> None:
    config = _configured(environment)
    with (
        engine_of_job(config.database_url, application="delivery-keys") as engine,
        FactSource.of(engine, config.chain, SystemClock()).open() as facts,
    ):
        for described in describe_keys(facts, config.keyring, config.key_grace_seconds):
            print(json.dumps(described))  # noqa: T201  # what the command is for


def _rewrap(environment: Environment) -> None:
    config = _configured(environment)
    with engine_of_job(config.database_url, application="delivery-rewrap") as engine:
        with FactSource.of(engine, config.chain, SystemClock()).open() as facts:
            now = facts.head.block_time
        done = rewrap(engine, now, config.keyring)
    print(json.dumps({"rewrapped": done.rewrapped, "left": done.left}))  # noqa: T201


def _check(environment: Environment) -> None:
    keep_memory_private()
    config = read_config(environment)
    with engine_of_job(config.database_url, application="delivery-check") as engine:
        report(start_checks(config, engine))


def _configured(environment: Environment) -> DeliveryConfig:
    keep_memory_private()
    config = read_config(environment)
    log.configure("delivery", config.log_level)
    return config
