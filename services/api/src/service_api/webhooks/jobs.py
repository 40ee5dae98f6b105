"""The job of the queue ``webhooks``: one that goes on, and ends on its own so that a worker can be drained.

A lock in PostgreSQL makes it the only one that sends; one that starts beside it ends at once. Losing Redis, the worker
or the job loses nothing: what was not written as sent is sent by the next, with the same ids.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Final

from bounty_protocol.types import ChainId
from redis import Redis
from redis.exceptions import RedisError
from rq import get_current_job
from service_common.db.clock import DatabaseClock
from service_common.db.engine import make_engine
from service_common.db.errors import DatabaseUnavailable
from service_common.db.locks import try_chain_lock
from service_common.db.notifications import Channel, Listener
from service_common.jobs.leases import take_lease
from service_common.jobs.once import enqueue_once
from service_common.jobs.periodic import keep_enqueuing
from service_common.jobs.queues import QueueName, check_message, connect, message
from service_common.jobs.worker import must_stop
from service_common.log import get_logger
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from service_api.webhooks.config import WebhooksConfig, read_config
from service_api.webhooks.sending import Sender
from service_api.webhooks.worker import LOOK_SECONDS, Deliverer, IndexGone, IndexOfAnotherHub

DELIVER: Final = "service_api.webhooks.jobs.deliver"
JOB_SECONDS: Final = 600
"""How long one job sends until the next takes over."""
DRAIN_SECONDS: Final = 30
"""The longest time until attempts under way have ended: two attempts' times, with the lookups of their names."""
PAUSE_SECONDS: Final = 0.1
REST_SECONDS: Final = 2.0
"""The longest time between looks while nothing is on its way; a notification ends it. What only time makes due, another
attempt or a fact that becomes final, may be as much later."""
ENQUEUE_SECONDS: Final = 1.0
"""How often a worker looks whether the next job is to be enqueued."""
LEASE: Final = "lease:deliver-webhooks"
LEASE_SECONDS: Final = 5
"""How long a job that gives no sign of life keeps the next one from being enqueued."""
SIGN_SECONDS: Final = 1.0
LOCK_SPACE: Final = 0x57_48

log = get_logger(__name__)


def start_enqueuing(redis: Redis) -> None:
    """Have one job waiting or running from now on."""
    keep_enqueuing(lambda: ensure_sending(redis), ENQUEUE_SECONDS)


def ensure_sending(redis: Redis) -> bool:
    """Enqueue a job unless one waits, or one that runs has given a sign of life; whether one was enqueued."""
    if not take_lease(redis, LEASE, LEASE_SECONDS):
        return False
    seconds = JOB_SECONDS + 2 * DRAIN_SECONDS
    nobody = timedelta(0)  # without a lease the worker is gone
    return enqueue_once(
        redis, QueueName.WEBHOOKS, DELIVER, message(), "deliver-webhooks", seconds=seconds, dead_after=nobody
    )


def deliver(received: Mapping[str, object]) -> str:
    """Send facts until the job's time is up or its worker has to stop; the reason it ended."""
    check_message(received)
    config = read_config(os.environ)
    engine = make_engine(config.database_url, application="webhooks", pool_size=2)
    job = get_current_job()
    try:
        with _only_one(engine, config.chain_id) as listener:
            if listener is None:
                return "another one sends"
            reason = _deliver(config, engine, listener, None if job is None else job.worker_name)
    except (DatabaseUnavailable, SQLAlchemyError, IndexGone, IndexOfAnotherHub) as error:
        log.warning("no webhooks are sent", reason=type(error).__name__)
        time.sleep(PAUSE_SECONDS)
        return type(error).__name__
    finally:
        engine.dispose()
    return reason


def _deliver(config: WebhooksConfig, engine: Engine, listener: Listener, worker: str | None) -> str:
    redis = connect(config.redis_url)
    clock = DatabaseClock.of(engine)
    sender = Sender(config.rules)
    deliverer = Deliverer(engine, config.chain_id, config.hub_address, config.keyring, config.rules, sender, clock)
    ends, signed_at, stopping, woken = time.monotonic() + JOB_SECONDS, float("-inf"), False, False
    try:
        while time.monotonic() < ends and not stopping:
            if time.monotonic() - signed_at > SIGN_SECONDS:
                signed_at, stopping = time.monotonic(), _give_sign(redis, worker)
            deliverer.look()
            if deliverer.rests:
                # Of what it was woken by, a test that is asked for may be left: those are read once a second.
                woken = listener.wait(LOOK_SECONDS if woken else REST_SECONDS)
            else:
                deliverer.collect(PAUSE_SECONDS)
                woken = listener.wait(0)  # notices a lost lock, too
        return "stopping" if stopping else "time is up"
    finally:
        _drain(deliverer, redis)
        with suppress(RedisError):
            redis.delete(LEASE)
        redis.close()


def _drain(deliverer: Deliverer, redis: Redis) -> None:
    """Write what was on its way; what does not end in time is sent again by the next job."""
    ends = time.monotonic() + DRAIN_SECONDS

    def is_time() -> bool:
        _give_sign(redis, None)
        return time.monotonic() < ends

    deliverer.drain(is_time, PAUSE_SECONDS)


def _give_sign(redis: Redis, worker: str | None) -> bool:
    """Renew the lease; whether the worker has to stop. Without Redis a second job may start, and end at once."""
    with suppress(RedisError):
        redis.set(LEASE, 1, ex=LEASE_SECONDS)
        return worker is not None and must_stop(redis, worker)
    return False


@contextmanager
def _only_one(engine: Engine, chain_id: ChainId) -> Iterator[Listener | None]:
    """On the lock's connection, for as long as it holds the lock, this one listens and sends; None where another does.
    The lock ends with its connection, which waiting on it notices."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        try:
            locked = try_chain_lock(connection, LOCK_SPACE, chain_id)
            yield Listener(connection, Channel.TO_SEND) if locked else None
        finally:
            connection.invalidate()  # closing the session releases the lock, in any state
