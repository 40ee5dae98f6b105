"""``service-delivery``: the processes of the delivery service."""

from collections.abc import Sequence

from service_common import log
from service_common.db.engine import check_database, make_engine
from service_common.entry_point import Environment, Process, run_entry_point
from service_common.internal_port import Check, serve_internal_port
from service_common.jobs.queues import QueueName, connect
from service_common.jobs.worker import run_worker
from service_common.web.server import serve

from service_delivery.config import DeliveryConfig, read_config


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one process; the exit code."""
    processes = {
        "serve": Process("answer HTTP requests that the api forwards", _serve),
        "worker": Process("run jobs of the queue delivery", _worker),
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
    serve_internal_port(config.web.internal_port, _checks(config))
    run_worker([QueueName.DELIVERY], connect(config.redis_url))


def _configured(environment: Environment) -> DeliveryConfig:
    config = read_config(environment)
    log.configure("delivery", config.log_level)
    return config


def _checks(config: DeliveryConfig) -> dict[str, Check]:
    """What readiness asks of this process's dependencies."""
    engine = make_engine(config.database_url, application="delivery-health", pool_size=1)
    rpc = config.chain.rpc()
    return {
        "database": lambda: check_database(engine),
        "redis": connect(config.redis_url).ping,
        "chain": lambda: rpc.call("eth_blockNumber"),
    }
