"""The jobs of queue ``index``.

``follow`` is one long-lived job: it holds the chain's lease in Redis, which only keeps the scheduler from starting a
second one, and the chain's lock in PostgreSQL, which is what makes it the only writer. It ends by itself after
``LEASE_JOB_SECONDS`` so that a worker can be drained, and the scheduler starts its successor.
"""

import os
import random
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from threading import Event, Thread
from typing import Final

from redis import Redis
from redis.exceptions import RedisError
from rq import get_current_job
from service_common.chain.blocks import header_at
from service_common.chain.json_rpc import ChainUnavailable
from service_common.db.engine import DatabaseUnavailable, make_engine
from service_common.jobs.queues import check_message, connect
from service_common.log import get_logger
from service_common.types import BlockNumber
from sqlalchemy import Engine

from service_indexer.config import IndexerConfig, read_config
from service_indexer.follower import Halted, advance
from service_indexer.source import RpcSource
from service_indexer.writer import AnotherWriter, FencedOut, Writer, only_writer

LEASE_JOB_SECONDS: Final = 300
LEASE_SECONDS: Final = 5
RENEW_SECONDS: Final = 0.5
MIN_PAUSE_SECONDS: Final = 0.1
MAX_PAUSE_SECONDS: Final = 1.0
MAX_BACKOFF_SECONDS: Final = 5.0

log = get_logger(__name__)


def lease_key(config: IndexerConfig) -> str:
    """The Redis key that says a follower is at work."""
    return f"lease:follow:{config.chain.chain_id}"


def follow(received: Mapping[str, object]) -> str:
    """Follow the chain until the job's time is up or its worker is asked to stop; the reason it ended."""
    check_message(received)
    config, engine = _setup()
    rpc = config.chain.rpc()
    ended, draining = Event(), Event()
    renewal = Thread(target=_keep_lease, args=(config, ended, draining), daemon=True)
    renewal.start()
    try:
        start = header_at(rpc, BlockNumber(max(0, config.chain.deploy_block - 1)))
        with only_writer(engine, config.chain.chain_id, config.chain.hub_address, start) as writer:
            source = RpcSource(rpc, config.chain.hub_address, config.rpc_quorum)
            return _follow(source, writer, draining, _pause_between_looks(config.chain.block_time_seconds))
    except (AnotherWriter, FencedOut, Halted, ChainUnavailable, DatabaseUnavailable) as error:
        log.warning("follower stopped", reason=type(error).__name__, detail=str(error))
        draining.wait(1)  # whatever it was, the successor need not meet it at once
        return type(error).__name__
    finally:
        ended.set()
        renewal.join()
        engine.dispose()


def _follow(source: RpcSource, writer: Writer, draining: Event, pause: float) -> str:
    ends = time.monotonic() + LEASE_JOB_SECONDS
    failures = 0
    while time.monotonic() < ends and not draining.is_set():
        try:
            busy, failures = advance(source, writer), 0
        except (ChainUnavailable, DatabaseUnavailable) as error:
            failures += 1
            log.warning("cannot advance", reason=str(error))
            if isinstance(error, ChainUnavailable):
                source.distrust()
            draining.wait(min(MAX_BACKOFF_SECONDS, pause * 2**failures) * random.uniform(0.5, 1))  # noqa: S311
            continue
        if not busy:
            draining.wait(pause)
    return "draining" if draining.is_set() else "lease ended"


def _pause_between_looks(block_time_seconds: float) -> float:
    """Eight looks a block: soon enough for whoever waits, and bearable for an endpoint that counts requests."""
    return min(MAX_PAUSE_SECONDS, max(MIN_PAUSE_SECONDS, block_time_seconds / 8))


def _keep_lease(config: IndexerConfig, ended: Event, draining: Event) -> None:
    """Renew the lease every second and see whether the worker was asked to stop.

    A Redis that does not answer only means that a second job may start, and end at once for want of the lock.
    """
    redis: Redis = connect(config.redis_url)
    job = get_current_job()
    worker = job.worker_name if job is not None else None
    while not ended.is_set():
        try:
            redis.set(lease_key(config), os.getpid(), ex=LEASE_SECONDS)
            if worker and redis.hexists(f"rq:worker:{worker}", "shutdown_requested_date"):
                draining.set()
        except RedisError as error:
            log.warning("lease not renewed", reason=type(error).__name__)
        ended.wait(RENEW_SECONDS)
    with suppress(RedisError):
        redis.delete(lease_key(config))
    redis.close()


@cache
def _setup() -> tuple[IndexerConfig, Engine]:
    config = read_config(os.environ)
    return config, make_engine(config.database_url, application="indexer", pool_size=4)
