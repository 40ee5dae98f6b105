"""Queue names and access to them.

Every queue and worker uses JSON, never pickle; a job's one argument is a versioned object. Redis holds no
fact: anything that is lost with it is found again from PostgreSQL or the chain.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from bounty_protocol.vanished import STORE_SECONDS, tcp_options
from redis import Redis
from redis.backoff import ExponentialBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry
from rq import Queue
from rq.job import Job
from rq.serializers import JSONSerializer

from service_common.jobs.stored import StoredJob

MESSAGE_VERSION: Final = 1
ANSWER_SECONDS: Final = 2.0
"""With the retries, a server that does not answer is given up within ten seconds."""

RETRIES: Final = 4


class QueueName(StrEnum):
    """Every queue of the service; each has a worker (an architecture test)."""

    REVIEWS = "reviews"
    REVIEWS_LATER = "reviews-later"
    """Reviews of Posters who have another one waiting, behind everybody's first; and the reviewer's own sweeps."""
    INDEX = "index"
    SETTLE = "settle"
    ARTIFACTS = "artifacts"
    DELIVERY = "delivery"


def connect(url: str, *, answer_seconds: float | None = ANSWER_SECONDS, retries: int = RETRIES) -> Redis:
    """A connection that retries briefly over a restart of the server.

    A server that does not answer for ``answer_seconds`` is given up; None is for a worker, which waits for jobs on it.
    Without ``retries`` nothing is sent twice: for what must not happen again if only its answer came late.
    """
    return Redis.from_url(
        url,
        socket_connect_timeout=3,
        socket_timeout=answer_seconds,
        socket_keepalive=True,
        socket_keepalive_options=tcp_options(STORE_SECONDS),
        health_check_interval=15,
        retry=Retry(ExponentialBackoff(cap=1, base=0.05), retries),
        retry_on_error=[RedisConnectionError, RedisTimeoutError],
    )


def open_queue(name: QueueName, connection: Redis, job_class: type[Job] = StoredJob) -> Queue:
    """One queue. ``job_class`` is what its jobs are read as, also where RQ cleans up after lost ones."""
    return Queue(name.value, connection=connection, job_class=job_class, serializer=JSONSerializer)


def queue_of(job: Job) -> Queue | None:
    """The queue that a job says it is of; None where whoever wrote the job named another one than ours."""
    return open_queue(QueueName(job.origin), job.connection) if job.origin in set(QueueName) else None


def enqueue(queue: Queue, function: str, argument: Mapping[str, object], **options: Any) -> Job:
    """Put a job into a queue; ``options`` are RQ's."""
    return queue.enqueue(function, argument, **options)


def message(**fields: str | int | None) -> dict[str, str | int | None]:
    """A job's argument."""
    return {"version": MESSAGE_VERSION, **fields}


def check_message(received: Mapping[str, object]) -> None:
    """Refuse a message of a version this release does not know; the job is parked as failed and stays visible."""
    if received.get("version") != MESSAGE_VERSION:
        raise ValueError(f"a job message of version {received.get('version')!r}; this worker reads {MESSAGE_VERSION}")
