"""Our own RQ scheduler: keeps exactly one follower queued or running, and has the settler look every few seconds.

Promises: JSON messages only (RQ's own cron pickles); losing Redis, this process or the worker costs seconds and no
fact. A follower that fails is started again, after its failed job has been logged and removed.
"""

import signal
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Final

from redis import Redis
from redis.exceptions import RedisError
from rq.exceptions import DuplicateJobError, NoSuchJobError
from rq.job import Job, JobStatus
from rq.serializers import JSONSerializer
from service_common.jobs.queues import QueueName, connect, message, open_queue
from service_common.log import get_logger

from service_indexer.config import IndexerConfig
from service_indexer.jobs import LEASE_JOB_SECONDS, lease_key

TICK_SECONDS: Final = 0.5
SETTLE_SECONDS: Final = 5
DEAD_AFTER: Final = timedelta(seconds=20)
"""A job whose worker was not heard for this long is lost."""

log = get_logger(__name__)


def run_scheduler(config: IndexerConfig) -> None:
    """Schedule until SIGTERM or SIGINT."""
    stopped = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    redis = connect(config.redis_url)
    while not stopped.is_set():
        try:
            ensure_following(config, redis)
            if config.settler_key is not None:
                ensure_settling(config, redis)
        except RedisError as error:
            log.warning("cannot schedule", reason=type(error).__name__)
        stopped.wait(TICK_SECONDS)


def ensure_following(config: IndexerConfig, redis: Redis) -> bool:
    """Enqueue a follower unless one is queued or holds the lease; whether one was enqueued."""
    if redis.exists(lease_key(config)):
        return False
    job_id = f"follow-{config.chain.chain_id}"
    _forget_ended(job_id, redis)
    try:
        open_queue(QueueName.INDEX, redis).enqueue(
            "service_indexer.jobs.follow",
            message(chain_id=config.chain.chain_id),
            job_id=job_id,
            unique=True,
            job_timeout=LEASE_JOB_SECONDS + 60,
            result_ttl=0,
        )
    except DuplicateJobError:
        return False
    return True


def ensure_settling(config: IndexerConfig, redis: Redis) -> bool:
    """Enqueue a look for bounties whose time is up, at most one every ``SETTLE_SECONDS``."""
    chain_id = config.chain.chain_id
    if not redis.set(f"lease:settle:{chain_id}", 1, ex=SETTLE_SECONDS, nx=True):
        return False
    job_id = f"settle-{chain_id}"
    _forget_ended(job_id, redis, unless_heard_within=DEAD_AFTER)
    try:
        open_queue(QueueName.SETTLE, redis).enqueue(
            "service_indexer.settling.settle",
            message(chain_id=chain_id),
            job_id=job_id,
            unique=True,
            job_timeout=60,
            result_ttl=0,
        )
    except DuplicateJobError:
        return False
    return True


def _forget_ended(job_id: str, redis: Redis, unless_heard_within: timedelta = timedelta(0)) -> None:
    """Remove a job that is no longer queued: it ended, failed, or its worker was killed and is not heard any more."""
    try:
        job = Job.fetch(job_id, connection=redis, serializer=JSONSerializer)
    except NoSuchJobError:
        return
    status = job.get_status()
    if status in {JobStatus.QUEUED, JobStatus.SCHEDULED, JobStatus.DEFERRED}:
        return
    if status is JobStatus.STARTED and job.last_heartbeat is not None:
        if datetime.now(UTC) - job.last_heartbeat < unless_heard_within:
            return
    elif status is JobStatus.FAILED:
        result = job.latest_result()
        log.error("job failed", job_id=job_id, detail=(result.exc_string or "")[-2000:] if result else "")
    job.delete()
