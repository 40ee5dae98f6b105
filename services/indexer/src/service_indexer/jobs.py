"""The job of queue ``index``.

``follow`` is one long-lived job: it holds the chain's lease in Redis, which only keeps the scheduler from starting a
second one, and the chain's lock in PostgreSQL, which is what makes it the only writer. It ends on its own after
``LEASE_JOB_SECONDS`` so that a worker can be drained, and the scheduler starts its successor, or any worker does where
the scheduler is away.
"""

import os
import random
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from threading import Event, Thread
from typing import Final

from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc
from bounty_protocol.types import BlockNumber
from redis import Redis
from redis.exceptions import RedisError
from rq import get_current_job
from service_common.db.engine import make_engine, reading
from service_common.db.errors import DatabaseUnavailable
from service_common.db.hub_reads import read_head
from service_common.jobs.queues import check_message, connect
from service_common.jobs.worker import must_stop
from service_common.log import get_logger
from service_common.newest_block import write_newest
from sqlalchemy import Engine

from service_indexer.conduct import CONDUCT_SECONDS, conduct_key, conduct_of, hand_over, take_over
from service_indexer.config import IndexerConfig, read_config
from service_indexer.follower import MIN_PAUSE_SECONDS, Halted, Rest, advance, pause_after_block, pause_between_looks
from service_indexer.scheduler import LEASE_JOB_SECONDS, LEASE_SECONDS, lease_key
from service_indexer.source import RpcSource, source_of
from service_indexer.writer import AnotherWriter, FencedOut, Writer, only_writer

RENEW_SECONDS: Final = 1.0
ANSWERED_SECONDS: Final = 30.0
"""For how long the newest block is reported after an endpoint answered: one that is away is no chain that rests."""
MAX_BACKOFF_SECONDS: Final = 5.0

log = get_logger(__name__)


def follow(received: Mapping[str, object]) -> str:
    """Follow the chain until the job's time is up or its worker has to stop; the reason it ended."""
    check_message(received)
    config, engine = _setup()
    rpc = config.chain.rpc()
    ended, draining = Event(), Event()
    job = get_current_job()  # RQ knows it in this thread only
    worker = None if job is None else job.worker_name
    source = source_of(config, rpc)
    with connect(config.redis_url) as redis:
        take_over(redis, config.chain.chain_id, rpc.endpoints)
    renewal = Thread(target=_keep_lease, args=(config, rpc, source, worker, ended, draining), daemon=True)
    renewal.start()
    try:
        with reading(engine) as connection:
            is_begun = read_head(connection, config.chain.chain_id) is not None
        start = None if is_begun else first_header(source, config.chain.first_block, draining)
        with only_writer(engine, config.chain.chain_id, config.chain.hub_address, start) as writer:
            rest = Rest(alone=config.rpc_quorum == 1)
            reason = _follow(source, writer, draining, rest, config.chain.block_time_seconds)
            log.info("follower ended", reason=reason)
            return reason
    except (AnotherWriter, FencedOut, Halted, ChainUnavailable, DatabaseUnavailable) as error:
        log.warning("follower stopped", reason=type(error).__name__, detail=str(error))
        draining.wait(1)  # whatever the error was, the successor need not meet it at once
        return type(error).__name__
    finally:
        ended.set()
        renewal.join()
        engine.dispose()


def first_header(source: RpcSource, block: BlockNumber, draining: Event) -> Header:
    """The header that a copy begins with, asked for until the job's time is up or its worker has to stop.

    A follower that ended at once would be started again each second. Then it raises ``ChainUnavailable``.
    """
    ends, failures = time.monotonic() + LEASE_JOB_SECONDS, 0
    while True:
        try:
            return source.header(block)
        except ChainUnavailable as error:
            if time.monotonic() > ends or draining.is_set():
                raise
            failures += 1
            log.warning("cannot begin", reason=str(error))
            source.distrust()
            draining.wait(min(MAX_BACKOFF_SECONDS, MIN_PAUSE_SECONDS * 2**failures) * random.uniform(0.5, 1))  # noqa: S311


def _follow(source: RpcSource, writer: Writer, draining: Event, rest: Rest, block_seconds: float) -> str:
    ends = time.monotonic() + LEASE_JOB_SECONDS
    failures, pause = 0, pause_between_looks(block_seconds)
    while time.monotonic() < ends and not draining.is_set():
        try:
            if failures:
                writer.standing(BlockNumber(0))  # raises FencedOut: a rebuild waits a minute, endpoints may hang longer
            busy, failures = advance(source, writer, rest), 0
        except (ChainUnavailable, DatabaseUnavailable) as error:
            failures += 1
            log.warning("cannot advance", reason=str(error))
            rest.leave()
            if isinstance(error, ChainUnavailable):
                source.distrust()
            draining.wait(min(MAX_BACKOFF_SECONDS, pause * 2**failures) * random.uniform(0.5, 1))  # noqa: S311
            continue
        if busy and rest.reached:
            draining.wait(pause_after_block(block_seconds))
        elif not busy:
            draining.wait(pause)
    return "draining" if draining.is_set() else "lease ended"


def _keep_lease(
    config: IndexerConfig, rpc: Rpc, source: RpcSource, worker: str | None, ended: Event, draining: Event
) -> None:
    """Renew the lease, report how the endpoints and the chain behave, and set ``draining`` when the worker has to stop.

    A Redis that does not answer only means that a second job may start, and end at once because it cannot have the
    lock.
    """
    redis: Redis = connect(config.redis_url)
    while not ended.is_set():
        try:
            with redis.pipeline(transaction=False) as together:
                together.set(lease_key(config), os.getpid(), ex=LEASE_SECONDS)
                together.set(conduct_key(config.chain.chain_id), conduct_of(rpc.endpoints), ex=CONDUCT_SECONDS)
                newest = source.newest
                if newest is not None and time.monotonic() - newest.answered_at < ANSWERED_SECONDS:
                    write_newest(together, config.chain.chain_id, newest.time)
                together.execute()
            if worker and must_stop(redis, worker):
                draining.set()
        except RedisError as error:
            log.warning("lease not renewed", reason=type(error).__name__)
        ended.wait(RENEW_SECONDS)
    with suppress(RedisError):
        hand_over(redis, config.chain.chain_id, rpc.endpoints)
        redis.delete(lease_key(config))
    redis.close()


@cache
def _setup() -> tuple[IndexerConfig, Engine]:
    config = read_config(os.environ)
    return config, make_engine(config.database_url, application="indexer", pool_size=4)
