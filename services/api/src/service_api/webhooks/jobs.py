"""The job of the queue ``webhooks``: one that goes on, and ends on its own so that a worker can be drained.

A lock in PostgreSQL makes it the only one that sends; one that starts beside it ends at once. Losing Redis, the worker
or the job loses nothing: what was not written as sent is sent by the next, with the same ids.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

from redis import Redis
from redis.exceptions import RedisError
from rq import get_current_job
from service_common.clock import SystemClock
from service_common.db.engine import DatabaseUnavailable, make_engine
from service_common.jobs.periodic import Periodic
from service_common.jobs.queues import QueueName, check_message, connect
from service_common.jobs.worker import must_stop
from service_common.log import get_logger
from service_common.types import ChainId
from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

from service_api.webhooks.config import WebhooksConfig, read_config
from service_api.webhooks.sending import Sender
from service_api.webhooks.worker import Deliverer, IndexGone

DELIVER: Final = "service_api.webhooks.jobs.deliver"
JOB_SECONDS: Final = 60
"""How long one job sends until the next takes over."""
DRAIN_SECONDS: Final = 30
"""What is on its way at its end has ended after so long: an attempt's time, and the lookup of a name."""
PAUSE_SECONDS: Final = 0.1
LOOK_SECONDS: Final = 0.25
"""How often a worker looks whether the next job is to be enqueued."""
STOP_SECONDS: Final = 1.0
LOCK_SPACE: Final = 0x57_48

PERIODIC: Final = (Periodic(QueueName.WEBHOOKS, DELIVER, every_seconds=1, run_seconds=JOB_SECONDS + 2 * DRAIN_SECONDS),)

log = get_logger(__name__)


def deliver(received: Mapping[str, object]) -> str:
    """Send facts until the job's time is up or its worker has to stop; the reason it ended."""
    check_message(received)
    config = read_config(os.environ)
    engine = make_engine(config.database_url, application="webhooks", pool_size=2)
    job = get_current_job()
    try:
        with _only_one(engine, config.chain_id) as only:
            if not only:
                return "another one sends"
            reason = _deliver(config, engine, None if job is None else job.worker_name)
    except (DatabaseUnavailable, SQLAlchemyError, IndexGone) as error:
        log.warning("no webhooks are sent", reason=type(error).__name__)
        time.sleep(PAUSE_SECONDS)
        return type(error).__name__
    finally:
        engine.dispose()
    return reason


def _deliver(config: WebhooksConfig, engine: Engine, worker: str | None) -> str:
    redis = connect(config.redis_url)
    clock = SystemClock()
    deliverer = Deliverer(engine, config.chain_id, config.keyring, config.rules, Sender(config.rules), clock)
    ends, looked_at, stopping = time.monotonic() + JOB_SECONDS, time.monotonic(), False
    try:
        while time.monotonic() < ends and not stopping:
            deliverer.look()
            deliverer.collect(PAUSE_SECONDS)
            if time.monotonic() - looked_at > STOP_SECONDS:
                looked_at, stopping = time.monotonic(), _must_stop(redis, worker)
        return "stopping" if stopping else "time is up"
    finally:
        _drain(deliverer)
        redis.close()


def _drain(deliverer: Deliverer) -> None:
    """Write what was on its way; what does not end in time is sent again by the next job."""
    ends = time.monotonic() + DRAIN_SECONDS
    while not deliverer.idle and time.monotonic() < ends:
        deliverer.collect(PAUSE_SECONDS)


def _must_stop(redis: Redis, worker: str | None) -> bool:
    with suppress(RedisError):
        return worker is not None and must_stop(redis, worker)
    return False


@contextmanager
def _only_one(engine: Engine, chain_id: ChainId) -> Iterator[bool]:
    """Whether this is the one that sends, for as long as it holds the lock's connection."""
    key = {"space": LOCK_SPACE, "chain": chain_id % 2**31}
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        yield bool(connection.execute(text("SELECT pg_try_advisory_lock(:space, :chain)"), key).scalar())
