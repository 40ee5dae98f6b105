"""The jobs of queue ``index``.

``read_ahead`` reads one range of final blocks for the follower of a copy that is far behind; losing it loses nothing.
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
from bounty_protocol.chain.json_rpc import ChainUnavailable, JsonRpc
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

from service_indexer.backfill import Backfill, enqueue_ahead
from service_indexer.conduct import CONDUCT_SECONDS, conduct_key, conduct_of, hand_over, note_contradictions, take_over
from service_indexer.config import IndexerConfig, read_config
from service_indexer.follower import MIN_PAUSE_SECONDS, Halted, Rest, advance, pause_after_block, pause_between_looks
from service_indexer.scheduler import LEASE_JOB_SECONDS, LEASE_SECONDS, lease_key
from service_indexer.source import RpcSource, source_of
from service_indexer.stretch import BLOCKS_PER_STEP, read_stretch
from service_indexer.writer import AnotherWriter, FencedOut, Writer, only_writer

RENEW_SECONDS: Final = 1.0
ANSWERED_SECONDS: Final = 30.0
"""For how long the newest block is reported after an endpoint answered: one that is away is no chain that rests."""
MAX_BACKOFF_SECONDS: Final = 5.0
AHEAD_SECONDS: Final = 1.0

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
            ahead = _Ahead(config, engine)
            rest = Rest(alone=config.rpc_quorum == 1)
            reason = _follow(source, writer, ahead, draining, rest, config.chain.block_time_seconds)
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


def read_ahead(received: Mapping[str, object]) -> str:
    """Read one range of final blocks and keep it for the follower; the result."""
    check_message(received)
    config, engine = _setup()
    first = BlockNumber(int(str(received["first_block"])))
    last = BlockNumber(first + BLOCKS_PER_STEP - 1)
    rpc = config.chain.rpc()
    try:
        with reading(engine) as connection:
            head = read_head(connection, config.chain.chain_id)
        if head is None or head.block_number >= last:
            return "the copy is past it"
        source = source_of(config, rpc)
        final = source.tip().finalized
        if final is None or final.number < last:
            return "not final yet"
        stretch = read_stretch(source, source.header(BlockNumber(first - 1)), last, final.number)
        Backfill(engine, config.chain.chain_id).put(stretch)
    except (ChainUnavailable, DatabaseUnavailable) as error:
        log.warning("nothing was read ahead", first=first, reason=str(error))
        return type(error).__name__
    finally:
        engine.dispose()
        with suppress(RedisError), connect(config.redis_url) as redis:
            note_contradictions(redis, config.chain.chain_id, rpc.endpoints)
    return f"read up to {stretch.headers[-1].number}"


class _Ahead:
    """Has other workers read ahead, where the copy is far behind."""

    def __init__(self, config: IndexerConfig, engine: Engine) -> None:
        self.backfill = Backfill(engine, config.chain.chain_id)
        self._config, self._looked_at = config, float("-inf")
        self._far = True
        """Whether the copy was far behind at the last look, so that ranges that it passes may be kept."""

    def look(self, source: RpcSource, writer: Writer, *, reached: bool) -> None:
        """At most once a second: delete what was passed, enqueue what comes next. Nothing where the copy has
        ``reached`` the tip, and was near it before."""
        if reached and not self._far:
            return
        head = writer.head() if time.monotonic() - self._looked_at >= AHEAD_SECONDS else None
        if head is None:
            return
        self._looked_at = time.monotonic()
        self.backfill.forget(head.block_number)
        self._far = head.tip_number - head.block_number > BLOCKS_PER_STEP
        final = source.tip().finalized if self._far else None
        if final is not None:
            with connect(self._config.redis_url) as redis:
                enqueue_ahead(redis, self.backfill, self._config.chain.chain_id, head.block_number, final.number)


def _follow(source: RpcSource, writer: Writer, ahead: _Ahead, draining: Event, rest: Rest, block_seconds: float) -> str:
    ends = time.monotonic() + LEASE_JOB_SECONDS
    failures, pause = 0, pause_between_looks(block_seconds)
    while time.monotonic() < ends and not draining.is_set():
        try:
            if failures:
                writer.standing(BlockNumber(0))  # raises FencedOut: a rebuild waits a minute, endpoints may hang longer
            busy, failures = advance(source, writer, ahead.backfill, rest), 0
            if busy:
                ahead.look(source, writer, reached=rest.reached)
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
    config: IndexerConfig, rpc: JsonRpc, source: RpcSource, worker: str | None, ended: Event, draining: Event
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
