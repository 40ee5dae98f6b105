"""``service-api``: the processes of the public API."""

import argparse
import os
import sys
from collections.abc import Sequence

from service_common import log
from service_common.config import ConfigurationError, EnvironmentReader
from service_common.db.engine import make_engine, reading
from service_common.db.migrate import migrate
from service_common.internal_port import Check, serve_internal_port
from service_common.jobs.queues import QueueName, connect
from service_common.jobs.worker import run_worker
from service_common.web.server import serve
from sqlalchemy import text

from service_api.config import ApiConfig, read_config
from service_api.dependencies import make_dependencies


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one process; the exit code."""
    parser = argparse.ArgumentParser(prog="service-api", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("serve", help="answer HTTP requests")
    commands.add_parser("worker", help="run jobs of the queue artifacts")
    commands.add_parser("migrate", help="bring the database of all services to the newest schema")
    chosen = parser.parse_args(arguments).command
    try:
        if chosen == "migrate":
            return _migrate()
        config = read_config(os.environ)
    except ConfigurationError as error:
        print(f"service-api: {error}", file=sys.stderr)  # noqa: T201
        return 2
    log.configure("api", config.log_level)
    {"serve": _serve, "worker": _worker}[chosen](config)
    return 0


def _serve(config: ApiConfig) -> None:
    web = config.web
    serve(
        "service_api.wsgi:application",
        host=web.host,
        port=web.port,
        internal_port=web.internal_port,
        checks=_checks(config),
    )


def _worker(config: ApiConfig) -> None:
    serve_internal_port(config.web.internal_port, _checks(config))
    run_worker([QueueName.ARTIFACTS], connect(config.redis_url))


def _migrate() -> int:
    reader = EnvironmentReader(os.environ)
    url = reader.required("SERVICE_DATABASE_URL", str)
    reader.check()
    print(f"schema at {migrate(url)}")  # noqa: T201
    return 0


def _checks(config: ApiConfig) -> dict[str, Check]:
    """What readiness asks of this process's dependencies."""
    engine = make_engine(config.database_url, application="api-health", pool_size=1)
    dependencies = make_dependencies(config)

    def database() -> object:
        with reading(engine) as connection:
            return connection.execute(text("SELECT 1")).scalar_one()

    return {
        "database": database,
        "redis": dependencies.redis.ping,
        "chain": lambda: dependencies.rpc.call("eth_blockNumber"),
        "storage": dependencies.store.check,
    }
