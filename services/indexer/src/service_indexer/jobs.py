"""The job of queue ``index``.

``follow`` takes steps for five seconds, and its worker's thread begins it again at once. The chain's lock in PostgreSQL
makes it the only writer. What a worker has learned of its RPC endpoints lives as long as its process.
"""

import os
import random
import time
from contextlib import suppress
from functools import cache
from typing import Final

from bounty_protocol.chain.rpc import ChainUnavailable, Rpc
from redis import Redis
from redis.exceptions import RedisError
from service_common.db.engine import make_engine, reading
from service_common.db.errors import DatabaseUnavailable
from service_common.db.hub_reads import read_head
from service_common.jobs import JobKind, Message, Periodic, QueueName, connect
from service_common.log import get_logger
from service_common.newest_block import write_newest
from sqlalchemy import Engine

from service_indexer.conduct import CONDUCT_SECONDS, conduct_key, conduct_of
from service_indexer.config import IndexerConfig, read_config
from service_indexer.follower import Halted, Rest, advance, pause_after_block, pause_between_looks
from service_indexer.source import RpcSource, source_of
from service_indexer.writer import AnotherWriter, FencedOut, Writer, only_writer

FOLLOW_SECONDS: Final = 5.0
FOLLOW: Final = Periodic(JobKind(QueueName.INDEX, "service_indexer.jobs.follow", run_seconds=300), every_seconds=0)
ANSWERED_SECONDS: Final = 30.0
"""For how long the newest block is reported after an endpoint answered: one that is away is no chain that rests."""

log = get_logger(__name__)


def follow(_received: Message) -> str:
    """Follow the chain for ``FOLLOW_SECONDS``; return the reason why that ended."""
    config, engine, rpc, source, redis = _setup()
    chain, ends = config.chain, time.monotonic() + FOLLOW_SECONDS
    try:
        with reading(engine) as connection:
            is_begun = read_head(connection, chain.chain_id) is not None
        start = None if is_begun else source.header(chain.first_block)
        with only_writer(engine, chain.chain_id, chain.hub_address, start) as writer:
            _follow(config, source, writer, ends)
            return "time is up"
    except (AnotherWriter, FencedOut, Halted, ChainUnavailable, DatabaseUnavailable) as error:
        log.warning("follower stopped", reason=type(error).__name__, detail=str(error))
        if isinstance(error, ChainUnavailable):
            source.distrust()
        time.sleep(1)  # whatever the error was, the next run need not meet it at once
        return type(error).__name__
    finally:
        _report(config, redis, rpc, source)


def _follow(config: IndexerConfig, source: RpcSource, writer: Writer, ends: float) -> None:
    block_seconds, failures = config.chain.block_time_seconds, 0
    pause, rest = pause_between_looks(block_seconds), Rest(alone=config.rpc_quorum == 1)
    while (left := ends - time.monotonic()) > 0:
        try:
            busy, failures = advance(source, writer, rest), 0
        except (ChainUnavailable, DatabaseUnavailable) as error:
            failures += 1
            log.warning("cannot advance", reason=str(error))
            rest.leave()
            if isinstance(error, ChainUnavailable):
                source.distrust()
            time.sleep(min(left, pause * 2**failures) * random.uniform(0.5, 1))  # noqa: S311
            continue
        if busy and rest.reached:
            time.sleep(min(left, pause_after_block(block_seconds)))
        elif not busy:
            time.sleep(min(left, pause))


def _report(config: IndexerConfig, redis: Redis, rpc: Rpc, source: RpcSource) -> None:
    """Report how the endpoints and the chain behave, for the metrics of all processes and for ``status``."""
    with suppress(RedisError), redis.pipeline(transaction=False) as together:
        together.set(conduct_key(config.chain.chain_id), conduct_of(rpc.endpoints), ex=CONDUCT_SECONDS)
        newest = source.newest
        if newest is not None and time.monotonic() - newest.answered_at < ANSWERED_SECONDS:
            write_newest(together, config.chain.chain_id, newest.time)
        together.execute()


@cache
def _setup() -> tuple[IndexerConfig, Engine, Rpc, RpcSource, Redis]:
    """Return what lives as long as the process."""
    config = read_config(os.environ)
    rpc = config.chain.rpc()
    engine = make_engine(config.database_url, application="indexer", pool_size=4)
    return config, engine, rpc, source_of(config, rpc), connect(config.redis_url, retries=0)
