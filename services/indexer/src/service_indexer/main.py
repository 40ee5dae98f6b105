"""``service-indexer``: the processes of the indexer."""

import argparse
import os
import sys
from collections.abc import Sequence

from service_common import log
from service_common.config import ConfigurationError
from service_common.db.engine import make_engine, reading
from service_common.db.hub_reads import read_head
from service_common.internal_port import serve_internal_port
from service_common.jobs.queues import QueueName, connect
from service_common.jobs.worker import run_worker
from sqlalchemy import text

from service_indexer.config import IndexerConfig, read_config
from service_indexer.scheduler import run_scheduler


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one process; the exit code."""
    parser = argparse.ArgumentParser(prog="service-indexer", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("worker", help="run jobs of the queue index")
    commands.add_parser("scheduler", help="keep one follower queued or running")
    commands.add_parser("status", help="print how far the copy is")
    chosen = parser.parse_args(arguments).command
    try:
        config = read_config(os.environ)
    except ConfigurationError as error:
        print(f"service-indexer: {error}", file=sys.stderr)  # noqa: T201
        return 2
    log.configure("indexer", config.log_level)
    {"worker": _worker, "scheduler": _scheduler, "status": _status}[chosen](config)
    return 0


def _worker(config: IndexerConfig) -> None:
    redis = connect(config.redis_url)
    engine = make_engine(config.database_url, application="indexer-health", pool_size=1)

    def database() -> object:
        with reading(engine) as connection:
            return connection.execute(text("SELECT 1")).scalar_one()

    serve_internal_port(config.internal_port, {"redis": redis.ping, "database": database})
    run_worker([QueueName.INDEX], redis)


def _scheduler(config: IndexerConfig) -> None:
    redis = connect(config.redis_url)
    serve_internal_port(config.internal_port, {"redis": redis.ping})
    run_scheduler(config)


def _status(config: IndexerConfig) -> None:
    with reading(make_engine(config.database_url, application="indexer-status", pool_size=1)) as connection:
        head = read_head(connection, config.chain.chain_id)
    if head is None:
        print("nothing indexed yet")  # noqa: T201
        return
    print(f"block {head.block_number} ({head.block_hash}), final up to {head.finalized_number}")  # noqa: T201
    if head.halted:
        print(f"HALTED: {head.halted}")  # noqa: T201
