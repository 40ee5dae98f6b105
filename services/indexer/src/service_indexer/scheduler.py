"""Our own RQ scheduler: keeps exactly one follower queued or running.

Messages are JSON only (RQ's own cron pickles); losing Redis, this process or the worker costs seconds and no fact. A
follower that fails is started again, after its failed job has been logged and removed. While no scheduler runs, each
worker does the same for its own queue (``Standby``): no single process is one whose absence stops the index. Several of
them are safe, since one job of an id is enqueued at a time, and the writer's lock is what counts. Settling is enqueued
by its own worker alone, which sees in the database whether there is something to do: a job is a process.
"""

import signal
from collections.abc import Callable
from datetime import timedelta
from threading import Event, Thread
from typing import Final

from redis import Redis
from redis.exceptions import RedisError
from service_common.forking import no_fork_during
from service_common.jobs.leases import is_leased, take_lease
from service_common.jobs.once import enqueue_once
from service_common.jobs.queues import QueueName, connect, message
from service_common.log import get_logger

from service_indexer.config import IndexerConfig

TICK_SECONDS: Final = 0.5
SETTLE_SECONDS: Final = 5
STANDBY_SECONDS: Final = 1.0
STANDBY_LOOKS: Final = 2
"""How often a worker misses the follower before it starts one: the scheduler is quicker, and a job that has just begun
has its lease by then."""
FOLLOW: Final = "service_indexer.jobs.follow"
LEASE_JOB_SECONDS: Final = 300
"""How long one follower works until the next takes over."""
LEASE_SECONDS: Final = 5
"""How long it shows that it runs, unless it shows it again."""

log = get_logger(__name__)


def lease_key(config: IndexerConfig) -> str:
    """The Redis key that shows that a follower runs."""
    return f"lease:follow:{config.chain.chain_id}"


def is_followed(config: IndexerConfig, redis: Redis) -> bool:
    """Whether a follower runs."""
    return is_leased(redis, lease_key(config), LEASE_SECONDS)


def run_scheduler(config: IndexerConfig) -> None:
    """Schedule until SIGTERM or SIGINT."""
    stopped = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    redis = connect(config.redis_url)
    while not stopped.is_set():
        try:
            ensure_following(config, redis)
        except RedisError as error:
            log.warning("cannot schedule", reason=type(error).__name__)
        stopped.wait(TICK_SECONDS)


def ensure_following(config: IndexerConfig, redis: Redis) -> bool:
    """Enqueue a follower unless one is queued or holds the lease; whether one was enqueued."""
    if is_followed(config, redis):
        return False
    return enqueue_once(
        redis,
        QueueName.INDEX,
        FOLLOW,
        message(chain_id=config.chain.chain_id),
        f"follow-{config.chain.chain_id}",
        seconds=LEASE_JOB_SECONDS + 60,
        dead_after=timedelta(0),  # no lease: the worker is gone
    )


def ensure_settling(config: IndexerConfig, redis: Redis, has_work: Callable[[], bool]) -> bool:
    """Look once every ``SETTLE_SECONDS`` whether something is to be settled, and enqueue the job then."""
    chain_id = config.chain.chain_id
    if not take_lease(redis, f"lease:settle:{chain_id}", SETTLE_SECONDS) or not has_work():
        return False
    job_id, argument = f"settle-{chain_id}", message(chain_id=chain_id)
    return enqueue_once(redis, QueueName.SETTLE, "service_indexer.settling.settle", argument, job_id, seconds=60)


class Standby:
    """What a worker of a queue does where no scheduler has done it; ``has_work`` is whether there is something to be
    settled."""

    def __init__(self, config: IndexerConfig, queue: QueueName, has_work: Callable[[], bool]) -> None:
        self._config, self._queue, self._has_work, self._missed = config, queue, has_work, 0

    def look(self, redis: Redis) -> bool:
        """Enqueue what is missing; whether something was."""
        if self._queue is QueueName.SETTLE:
            return ensure_settling(self._config, redis, self._has_work)
        self._missed = 0 if is_followed(self._config, redis) else self._missed + 1
        return self._missed >= STANDBY_LOOKS and ensure_following(self._config, redis)


def start_standby(config: IndexerConfig, queue: QueueName, has_work: Callable[[], bool]) -> None:
    """Look from now on, in a thread that ends with the process."""
    redis = connect(config.redis_url)
    Thread(target=_stand_by, args=(Standby(config, queue, has_work), redis), daemon=True, name="standby").start()


def _stand_by(standby: Standby, redis: Redis) -> None:
    pause = Event()
    while True:
        try:
            with no_fork_during():
                standby.look(redis)
        except Exception as error:  # noqa: BLE001  # a thread that ended would leave the worker ready and not standing by
            log.warning("cannot stand by", reason=type(error).__name__)
        pause.wait(STANDBY_SECONDS)
