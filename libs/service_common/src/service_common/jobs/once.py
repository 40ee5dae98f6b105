"""Enqueuing a job at most once at a time, under an id that names what it does.

While a job of this id waits or runs, nothing is enqueued. One that ended, failed, that the server gave to a connection
whose worker was gone, or whose worker was killed and gives no more sign of life, is logged, removed and enqueued again,
by one caller at a time: a caller that looks at what an earlier job left never removes the job that another caller
enqueued meanwhile. A worker's sign of life is a key that the server lets expire, so that two machines whose clocks
disagree do not start a running job a second time.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Final, cast

from redis import Redis
from redis.exceptions import RedisError
from rq.exceptions import DuplicateJobError, InvalidJobOperation, NoSuchJobError
from rq.executions import Execution
from rq.job import Job, JobStatus
from rq.registry import FailedJobRegistry, StartedJobRegistry
from rq.results import Result
from rq.serializers import JSONSerializer

from service_common.jobs.queues import QueueName, enqueue, open_queue, queue_of
from service_common.jobs.stored import StoredJob
from service_common.log import get_logger

DEAD_AFTER: Final = timedelta(seconds=20)
"""A job whose worker gave no sign of life for this long is lost."""
SIGN_SECONDS: Final = 20
"""How long a sign of life is kept: workers give one each five seconds."""
TAKING_SECONDS: Final = 10
"""For how long a worker may have taken a job out of its queue and not begun it."""
TURN_SECONDS: Final = 5.0
_KNOWN_SECONDS: Final = 7 * 86_400
"""How long it is remembered that a job was taken: longer than the interval of any periodic one."""

log = get_logger(__name__)


def enqueue_once(
    redis: Redis,
    name: QueueName,
    function: str,
    argument: Mapping[str, object],
    job_id: str,
    *,
    seconds: int,
    dead_after: timedelta = DEAD_AFTER,
    first: bool = False,
) -> bool:
    """Whether the job was enqueued now; ``seconds`` bounds its run, ``dead_after`` how long a worker may be silent.
    ``first``: somebody waits for it, so that it comes before all that waits already.
    """
    if find_pending(redis, job_id, dead_after) is not None:
        return False
    with one_at_a_time(redis, job_id):
        if find_pending(redis, job_id, dead_after) is not None:
            return False
        remove_ended(redis, job_id)
        queue = open_queue(name, redis)
        redis.zrem(queue.failed_job_registry.key, job_id)  # of a run that outlived what the server knew of it
        try:
            options = {"job_id": job_id, "unique": True, "job_timeout": seconds, "result_ttl": 0, "at_front": first}
            enqueue(queue, function, argument, **options)
        except DuplicateJobError:  # by an earlier release, which takes no turn
            return False
    return True


def find_pending(redis: Redis, job_id: str, dead_after: timedelta = DEAD_AFTER) -> Job | None:
    """The job where it waits or is at work."""
    try:
        job = StoredJob.fetch(job_id, connection=redis, serializer=JSONSerializer)
        status = job.get_status()
    except (NoSuchJobError, InvalidJobOperation):  # the second: removed between the two
        return None
    if status is JobStatus.QUEUED:
        return job if _waits(job, dead_after) else None
    return job if status is JobStatus.STARTED and is_alive(job, dead_after) else None


def _waits(job: Job, dead_after: timedelta) -> bool:
    """Whether a worker will find it, or is about to begin it: its process may be slow to start."""
    redis, queue = job.connection, queue_of(job)
    if queue is None:
        return False
    if redis.lpos(queue.key, job.id) is not None or _is_being_taken(job):
        return True
    return bool(dead_after) and _is_heard(redis, job.id)


def _is_being_taken(job: Job) -> bool:
    """Whether it was first missed in its queue less than ``TAKING_SECONDS`` ago, by the server's clock.

    The server hands a job also to a connection whose machine is gone, which it does not know: nobody begins that one.
    """
    name = f"taken:{job.id}:{job.enqueued_at}"
    job.connection.set(name, 1, nx=True, ex=_KNOWN_SECONDS)
    return 0 <= _KNOWN_SECONDS - job.connection.ttl(name) < TAKING_SECONDS


@contextmanager
def one_at_a_time(redis: Redis, job_id: str) -> Iterator[None]:
    """Hold the turn to replace what an earlier job of this id left; a turn that is not given back expires.

    One that nobody took, without an end or with a later one, gets that of a turn: else no job were ever enqueued.
    """
    name = f"enqueuing:{job_id}"
    redis.expire(name, int(TURN_SECONDS), lt=True)
    with redis.lock(name, timeout=TURN_SECONDS, blocking_timeout=TURN_SECONDS):
        yield


def remove_ended(redis: Redis, job_id: str) -> None:
    """Remove what is left of a job that ended or was lost, with its results; a failure is logged. In one's turn."""
    try:
        job = StoredJob.fetch(job_id, connection=redis, serializer=JSONSerializer)
        if job.get_status() is JobStatus.FAILED:
            log.error("job failed", job_id=job_id, detail=_why(job))
        if (queue := queue_of(job)) is not None:  # else the library fails the next one of this id, which waits, for it
            taken = queue.intermediate_queue
            redis.lrem(taken.key, 0, job_id)
            redis.delete(taken.get_first_seen_key(job_id))
        # The library reads each execution before it deletes it, and fails for one that has expired with its worker.
        with redis.pipeline() as pipeline:
            for execution_id in job.execution_registry.get_execution_ids():
                Execution(execution_id, job_id, redis).delete(job, pipeline)
            pipeline.execute()
        job.delete()
        Result.delete_all(job)  # else the next caller that waits would get how this one ended
    except (NoSuchJobError, InvalidJobOperation):
        # The worker's own cleaning got there first; or the server lost the job, and has only a later sign of its life.
        redis.delete(Job.key_for(job_id))


def _why(job: Job) -> str:
    """The end of a failed job's traceback."""
    try:
        result = job.latest_result()
    except RedisError:
        raise
    except Exception as error:  # noqa: BLE001  # RQ has one for each field that is malformed
        return f"its result cannot be read: {error!r}"
    return (result.exc_string or "")[-2000:] if result else ""


def forget_lost_failures(registry: FailedJobRegistry) -> None:
    """Take out of the failed registry what is no failed job any more: the server lost it, or it runs again."""
    redis = registry.connection
    for job_id in registry.get_job_ids():
        try:
            job = StoredJob.fetch(job_id, connection=redis, serializer=JSONSerializer)
            failed = job.get_status() is JobStatus.FAILED
        except (NoSuchJobError, InvalidJobOperation):
            failed = False
        if not failed:
            redis.zrem(registry.key, job_id)


def give_sign(redis: Redis, job_id: str) -> None:
    """A worker reports that this job is running."""
    redis.set(_sign(job_id), 1, ex=SIGN_SECONDS)


def keep_heard(started: StartedJobRegistry) -> None:
    """Before this machine looks for abandoned jobs by its own clock: those that give a sign of life are not."""
    redis = started.connection
    for entry, job_id in _entries(started):
        if _is_heard(redis, job_id):
            redis.zadd(started.key, {entry: time.time() + SIGN_SECONDS}, xx=True)


def count_heard(started: StartedJobRegistry) -> int:
    """How many started jobs have a worker that gives signs of life."""
    signs = {_sign(job_id) for _, job_id in _entries(started)}
    return started.connection.exists(*signs) if signs else 0


def _entries(started: StartedJobRegistry) -> list[tuple[bytes, str]]:
    """What is in it, each with the job's id; whoever can write to Redis can put anything there."""
    entries = cast("list[bytes]", started.connection.zrange(started.key, 0, -1))
    return [(entry, started.parse_job_id(entry.decode(errors="replace"))) for entry in entries]


def is_alive(job: Job, dead_after: timedelta) -> bool:
    """Whether the worker of a started job is at it. One of an earlier release gives no sign but its own clock's time,
    which counts only where it is about now: one that died ahead of time would seem alive until then.

    With a ``dead_after`` of nothing the caller knows that no worker can be.
    """
    if dead_after and _is_heard(job.connection, job.id):
        return True
    seen = job.last_heartbeat or job.started_at
    if seen is None:
        return False
    return abs(datetime.now(UTC) - (seen if seen.tzinfo else seen.replace(tzinfo=UTC))) < dead_after


def _is_heard(redis: Redis, job_id: str) -> bool:
    """Whether there is a sign of life that ends; one that does not is no worker's, and would keep the job for ever."""
    return 0 <= redis.ttl(_sign(job_id)) <= SIGN_SECONDS


def _sign(job_id: str) -> str:
    return f"at-work:{job_id}"
