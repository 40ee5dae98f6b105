"""The jobs of queue ``index``.

``follow`` is one long-lived job: it holds the chain's lease in Redis, which only keeps the scheduler from starting a
second one, and the chain's lock in PostgreSQL, which is what makes it the only writer. It ends by itself after
``LEASE_JOB_SECONDS`` so that a worker can be drained, and the scheduler starts its successor.
"""

import os
import time
from functools import cache
from threading import Event, Thread
from typing import Final

from redis import Redis
from redis.exceptions import RedisError
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
POLL_SECONDS: Final = 0.1
MAX_BACKOFF_SECONDS: Final = 5.0

log = get_logger(__name__)


def lease_key(config: IndexerConfig) -> str:
    """The Redis key that says a follower is at work."""
    return f"lease:follow:{config.chain.chain_id}"


def follow(received: dict[str, object]) -> str:
    """Follow the chain until the job's time is up; the reason it ended."""
    check_message(received)
    config, engine = _setup()
    rpc = config.chain.rpc()
    stopped = Event()
    renewal = Thread(target=_keep_lease, args=(config, stopped), daemon=True)
    renewal.start()
    try:
        start = header_at(rpc, BlockNumber(max(0, config.chain.deploy_block - 1)))
        with only_writer(engine, config.chain.chain_id, config.chain.hub_address, start) as writer:
            return _follow(RpcSource(rpc, config.chain.hub_address), writer)
    except (AnotherWriter, FencedOut, Halted, ChainUnavailable, DatabaseUnavailable) as error:
        log.warning("follower stopped", reason=type(error).__name__, detail=str(error))
        time.sleep(1)  # whatever it was, the successor need not meet it at once
        return type(error).__name__
    finally:
        stopped.set()
        renewal.join()


def _follow(source: RpcSource, writer: Writer) -> str:
    ends = time.monotonic() + LEASE_JOB_SECONDS
    pause = POLL_SECONDS
    while time.monotonic() < ends:
        try:
            busy = advance(source, writer)
        except (ChainUnavailable, DatabaseUnavailable) as error:
            log.warning("cannot advance", reason=str(error))
            pause = min(MAX_BACKOFF_SECONDS, pause * 2)
            time.sleep(pause)
            continue
        pause = POLL_SECONDS
        if not busy:
            time.sleep(pause)
    return "lease ended"


def _keep_lease(config: IndexerConfig, stopped: Event) -> None:
    """Renew the lease every second; a Redis that does not answer only means that a second job may start and end."""
    redis: Redis = connect(config.redis_url)
    while True:
        try:
            redis.set(lease_key(config), os.getpid(), ex=LEASE_SECONDS)
            if stopped.wait(1):
                redis.delete(lease_key(config))
                return
        except RedisError as error:
            log.warning("lease not renewed", reason=type(error).__name__)
            if stopped.wait(1):
                return


@cache
def _setup() -> tuple[IndexerConfig, Engine]:
    config = read_config(os.environ)
    return config, make_engine(config.database_url, application="indexer", pool_size=4)
