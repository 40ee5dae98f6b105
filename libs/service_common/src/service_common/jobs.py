"""Background jobs: RQ's queues with JSON messages, one worker for each queue, and the thread that begins periodic jobs.

Redis says what there is to do, PostgreSQL who does it: a job that runs holds the advisory lock of its id on a
connection of its own, which ends with its process. So no two jobs of an id run at once, and what Redis still shows of a
job whose lock is free, as after kill -9, keeps no other one from beginning. Redis holds no fact: a job looks at what is
there, may run twice or late, and is enqueued again by whatever finds that it is missing.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from threading import Event, Thread
from typing import ClassVar, Final

from bounty_protocol.keepalive import STORE_SECONDS, tcp_options
from prometheus_client import Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import REGISTRY
from redis import ConnectionPool, Redis
from redis.backoff import ExponentialBackoff
from redis.connection import Connection
from redis.exceptions import AuthenticationError, NoPermissionError, ReadOnlyError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry
from rq import Queue, SimpleWorker
from rq.exceptions import StopRequested
from rq.executions import Execution
from rq.job import Job
from rq.results import Result
from rq.serializers import JSONSerializer
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from service_common.config import Finding
from service_common.db.engine import make_engine, single
from service_common.db.errors import DatabaseUnavailable
from service_common.log import correlation_id, get_logger
from service_common.timeouts import Figures

MESSAGE_VERSION: Final = 1
ANSWER_SECONDS: Final = 2.0
"""Seconds after which, with the retries, a server that does not answer is given up within ten seconds."""
CONNECT_SECONDS: Final = 3.0
RETRIES: Final = 4
TICK_SECONDS: Final = 1.0
BEGIN_SECONDS: Final = 5
"""For how long a job that left its queue may not hold its lock yet."""
FAILURE_SECONDS: Final = 60
_TAKE: Final = text(
    "SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_try_advisory_lock(hashtextextended(:name, 1)) END"
)
"""Null at a standby, whose locks exclude nobody."""
_GIVE_BACK: Final = text("SELECT pg_advisory_unlock(hashtextextended(:name, 1))")
JOB_SECONDS: Final = Histogram(
    "service_job_seconds",
    "Time from a job's start to its end, by queue",
    ["queue"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 600, 3_600),
)

Message = Mapping[str, object]
Function = Callable[[Message], object]
log = get_logger(__name__)


class QueueName(StrEnum):
    """Every queue of the service; each has one worker (an architecture test)."""

    REVIEWS = "reviews"
    INDEX = "index"
    SETTLE = "settle"
    ARTIFACTS = "artifacts"


@dataclass(frozen=True, slots=True)
class JobKind:
    """A function of a queue's worker, by its whole name, and the bounds of its runs in seconds.

    ``kept_seconds`` is how long its result is kept for ``wait_for_result``, ``waiting_seconds`` how long it may wait in
    the queue.
    """

    queue: QueueName
    function: str
    run_seconds: int
    kept_seconds: int = 0
    waiting_seconds: int | None = None
    at_front: bool = False


@dataclass(frozen=True, slots=True)
class Periodic:
    """A job that its worker's thread begins again: so many seconds after it ended well, or at once if it was lost.

    One that failed is begun again after a minute, or its interval where that is shorter.
    """

    kind: JobKind
    every_seconds: int
    is_due: Callable[[], bool] = lambda: True

    @property
    def job_id(self) -> str:
        """The job's id, the same for every run."""
        return self.kind.function.replace(".", "-").replace("_", "-")


def connect(
    url: str,
    *,
    connect_seconds: float = CONNECT_SECONDS,
    answer_seconds: float | None = ANSWER_SECONDS,
    retries: int = RETRIES,
) -> Redis:
    """Connect to Redis, with retries over a restart of the server, or over its change into a replica.

    A server that does not answer for ``answer_seconds`` is given up; None is for a worker, which waits there for jobs.
    Without ``retries`` nothing is sent twice, for actions that must not be repeated if only the answer was late. A
    server that became a replica still answers reads with old data: once it refuses a write, the whole pool leaves it,
    so that the name resolves to the new one.
    """
    redis = Redis.from_url(
        url,
        socket_connect_timeout=connect_seconds,
        socket_timeout=answer_seconds,
        socket_keepalive=True,
        socket_keepalive_options=tcp_options(STORE_SECONDS),
        health_check_interval=15,
        retry=Retry(ExponentialBackoff(cap=1, base=0.05), retries),
        retry_on_error=[RedisConnectionError, RedisTimeoutError, ReadOnlyError],
    )
    pool: ConnectionPool = redis.connection_pool
    usual: type[Connection] = pool.connection_class

    class LeavingConnection(usual):  # type: ignore[misc,valid-type]
        def read_response(self, *args: object, **options: object) -> object:
            try:
                return super().read_response(*args, **options)
            except ReadOnlyError:
                pool.disconnect(inuse_connections=False)
                raise

    pool.connection_class = LeavingConnection
    return redis


def check_redis(redis: Redis) -> None:
    """Return if the server accepts writes; for readiness. ``Finding`` says why it does not."""
    try:
        redis.set("writable", 1, ex=60)
    except RedisError as error:
        raise Finding(explain_redis(error)) from None


def explain_redis(error: RedisError) -> str:
    """Return what to look at; the library's own words may hold an address."""
    if isinstance(error, AuthenticationError | NoPermissionError):
        return "Redis refuses the user or password of SERVICE_REDIS_URL"
    if isinstance(error, ReadOnlyError):
        return "Redis is a replica, which accepts no writes"
    return f"Redis does not answer ({type(error).__name__}): is SERVICE_REDIS_URL right?"


def open_queue(name: QueueName, redis: Redis, job_class: type[Job] = Job) -> Queue:
    """Return a queue whose messages are JSON."""
    return Queue(name.value, connection=redis, job_class=job_class, serializer=JSONSerializer)


def message(**fields: object) -> dict[str, object]:
    """Return a job's argument."""
    return {"version": MESSAGE_VERSION, **fields}


def check_message(received: object) -> Message:
    """Return a message of this release's version; ``ValueError`` for anything else."""
    if not isinstance(received, Mapping) or received.get("version") != MESSAGE_VERSION:
        raise ValueError(f"not a job message of version {MESSAGE_VERSION}")
    return received


@contextmanager
def locked(engine: Engine, name: str, wait_seconds: float = 0.0) -> Iterator[bool]:
    """Hold the advisory lock of a name, within a database, on a separate connection; yields whether it is held."""
    key, ends = {"name": name}, time.monotonic() + wait_seconds
    with single(engine) as connection:
        while (held := connection.execute(_TAKE, key).scalar_one()) is False and time.monotonic() < ends:
            time.sleep(0.02)
        if held is None:
            raise DatabaseUnavailable("the database is a standby")
        try:
            yield held
        finally:
            if held:
                try:
                    connection.execute(_GIVE_BACK, key)
                except DBAPIError:
                    connection.invalidate()  # the session is over, and its locks with it


def is_running(engine: Engine, job_id: str) -> bool:
    """Return whether some process is running the job."""
    with locked(engine, job_id) as free:
        return not free


def is_pending(redis: Redis, engine: Engine, kind: JobKind, job_id: str) -> bool:
    """Return whether the job waits, is about to begin, or runs."""
    return _is_waiting(open_queue(kind.queue, redis), job_id) or is_running(engine, job_id)


def enqueue(redis: Redis, engine: Engine, kind: JobKind, job_id: str, argument: Message) -> bool:
    """Enqueue the job under its id unless it waits or runs, replacing what an earlier job with that id left.

    Return whether it was enqueued.
    """
    queue = open_queue(kind.queue, redis)
    with locked(engine, job_id) as free:
        if not free or _is_waiting(queue, job_id):
            return False
        _forget(queue, job_id)
        redis.set(_begins_key(job_id), 1, ex=BEGIN_SECONDS)
        queue.enqueue(
            kind.function,
            argument,
            job_id=job_id,
            job_timeout=kind.run_seconds,
            ttl=kind.waiting_seconds,
            result_ttl=kind.kept_seconds,
            failure_ttl=FAILURE_SECONDS,
            at_front=kind.at_front,
        )
    return True


def wait_for_result(redis: Redis, job_id: str, seconds: int) -> Result | None:
    """Wait until the job has ended, at most that many seconds, and return how; None if it has not."""
    job = Job(job_id, connection=redis, serializer=JSONSerializer)
    return Result.fetch_latest(job, serializer=JSONSerializer, timeout=seconds)


def _is_waiting(queue: Queue, job_id: str) -> bool:
    redis = queue.connection
    if not redis.exists(Job.key_for(job_id)):  # a job that waited too long may still be listed
        return False
    return bool(redis.exists(_begins_key(job_id))) or redis.lpos(queue.key, job_id) is not None


def _begins_key(job_id: str) -> str:
    """Return the key that bridges the time from a job's place in the queue to its lock; the job deletes it."""
    return f"begins:{job_id}"


def _forget(queue: Queue, job_id: str) -> None:
    """Delete what Redis holds under a job's id, so that RQ's cleaning does not mistake the next one for it."""
    redis, job = queue.connection, Job(job_id, connection=queue.connection, serializer=JSONSerializer)
    job.origin = queue.name
    executions = job.execution_registry.get_execution_ids()
    with redis.pipeline() as pipeline:
        for execution_id in executions:
            Execution(execution_id, job_id, redis).delete(job, pipeline)
        for registry in (queue.failed_job_registry, queue.finished_job_registry):
            pipeline.zrem(registry.key, job_id)
        for each in (queue.key, queue.intermediate_queue_key):
            pipeline.lrem(each, 0, job_id)
        pipeline.delete(queue.intermediate_queue.get_first_seen_key(job_id))
        pipeline.delete(job.key, job.execution_registry.key, f"rq:results:{job_id}")
        pipeline.execute()


_FIELDS: Final = frozenset(
    {"created_at", "data", "description", "ended_at", "enqueued_at", "failure_ttl", "last_heartbeat", "origin"}
    | {"result_ttl", "started_at", "status", "timeout", "ttl", "worker_name"}
)
"""What a worker reads of a job's hash. RQ would import and call the callbacks that other fields name, send to webhooks,
and repeat the job."""


class ForeignJob(Exception):
    """A job that names another function than those of its worker: it would have its Secrets."""


class _OwnJob(Job):
    """A job as a worker runs it: one of the worker's functions with one message.

    ``held`` is whether its worker holds the lock of its id; None if the database did not answer.
    """

    functions: ClassVar[Mapping[str, Function]]
    held: bool | None = None

    @property
    def func(self) -> Callable[[object], object]:
        """The function behind the name that the job has."""
        if (function := self.functions.get(str(self.func_name))) is None:
            raise ForeignJob(f"{self.func_name!r} is not a job of this worker")
        return lambda received: function(check_message(received))

    def restore(self, raw_data: Mapping[bytes, bytes]) -> None:
        """Read the fields of the job's hash that a worker of ours needs, and no others."""
        super().restore({name: value for name, value in raw_data.items() if name.decode("latin-1") in _FIELDS})

    def perform(self) -> object:
        """Run the job, or do nothing if another process runs it."""
        if self.held is None:
            raise DatabaseUnavailable("the job's lock could not be taken")
        if self.held:
            return super().perform()
        log.info("another process runs this job")
        return None


class _Worker(SimpleWorker):
    """RQ's worker that runs jobs in the process itself, one after another."""

    max_connection_wait_time = 2.0
    engine: Engine
    periodic: Mapping[str, Periodic]
    idle: Event
    """Set while no job runs here; nothing else could begin here meanwhile."""

    def subscribe(self) -> None:
        """Ignore RQ's commands, which would end a worker or its job: nothing sends them."""

    def set_shutdown_requested_date(self) -> None:
        """Do nothing: nobody reads the date, and a signal that comes while Redis is away must not fail the job."""

    def perform_job(self, job: Job, queue: Queue) -> bool:
        """Run the job under its lock and correlation id, and note how a periodic one ended.

        The lock is held until RQ has written the job's end: a later write would belong to the next job with that id.
        """
        before = correlation_id.set(job.id)
        self.idle.clear()
        with ExitStack() as held:
            held.callback(self.idle.set)
            held.callback(correlation_id.reset, before)
            held.enter_context(JOB_SECONDS.labels(queue.name).time())
            with suppress(DatabaseUnavailable):
                job.held = held.enter_context(locked(self.engine, job.id, BEGIN_SECONDS))  # type: ignore[attr-defined]
            self.connection.delete(_begins_key(job.id))
            is_done = bool(super().perform_job(job, queue))
            if (periodic := self.periodic.get(job.id)) is not None:
                _note_end(self.connection, periodic, well=is_done)
            return is_done


def make_worker(
    queue: QueueName,
    redis: Redis,
    engine: Engine,
    functions: Sequence[Function],
    periodic: Sequence[Periodic] = (),
    idle: Event | None = None,
) -> SimpleWorker:
    """Make a worker of one queue that runs these functions and no others."""
    named = {f"{each.__module__}.{each.__qualname__}": each for each in functions}
    own = type("OwnJob", (_OwnJob,), {"functions": named})
    worker = _Worker([open_queue(queue, redis, own)], connection=redis, serializer=JSONSerializer, job_class=own)
    worker.engine, worker.idle = engine, idle or Event()
    worker.periodic = {each.job_id: each for each in periodic}
    return worker


def run_worker(
    queue: QueueName,
    urls: tuple[str, str],
    functions: Sequence[Function],
    periodic: Sequence[Periodic] = (),
) -> None:
    """Work on a queue in the main thread until SIGTERM or SIGINT; finish a job that runs.

    ``urls`` are those of Redis and of the database. If Redis becomes unavailable, or RQ's worker ends otherwise,
    another one starts after a second.
    """
    redis_url, database_url = urls
    redis, engine = connect(redis_url), make_engine(database_url, application="jobs", pool_size=1)
    REGISTRY.register(Figures(lambda: queue_figures(queue, redis)))
    JOB_SECONDS.labels(queue.value)
    idle = Event()
    idle.set()
    if periodic:
        Thread(target=_keep_beginning, args=(redis, engine, periodic, idle), daemon=True, name="periodic").start()
    waiting = connect(redis_url, answer_seconds=None)
    log.info("started", queue=queue.value)
    worker = None
    with suppress(StopRequested):  # a signal between two workers
        while True:
            try:
                worker = make_worker(queue, waiting, engine, functions, periodic, idle)
                worker.work(logging_level="WARNING")
            except RedisError as error:  # also where no worker could be made
                log.warning("the queue server does not answer", reason=explain_redis(error))
            if worker and worker._shutdown_requested_date is not None:  # noqa: SLF001  # RQ shows it nowhere else
                break
            log.warning("the worker starts again")
            waiting.connection_pool.disconnect()
            time.sleep(1)
    log.info("stopped")


def _keep_beginning(redis: Redis, engine: Engine, periodic: Sequence[Periodic], idle: Event) -> None:
    while True:
        idle.wait()
        try:
            begin_due(redis, engine, periodic)
        except (RedisError, DatabaseUnavailable) as error:
            reason = explain_redis(error) if isinstance(error, RedisError) else str(error)
            log.warning("cannot begin jobs", reason=reason)
        except Exception:  # a thread that ended would leave the worker ready and nothing begun
            log.exception("cannot begin jobs")
        time.sleep(TICK_SECONDS)


def begin_due(redis: Redis, engine: Engine, periodic: Sequence[Periodic]) -> list[str]:
    """Enqueue each periodic job that is due and neither waits nor runs; return their ids."""
    begun = []
    for job in periodic:
        if redis.exists(_rests_key(job.job_id)):
            continue
        if not job.is_due():
            _note_end(redis, job, well=True)
        elif enqueue(redis, engine, job.kind, job.job_id, message()):
            begun.append(job.job_id)
    return begun


def _note_end(redis: Redis, job: Periodic, *, well: bool) -> None:
    """Note for how long a job that ended or has nothing to do pauses; one that failed begins again sooner."""
    soon = max(FAILURE_SECONDS, job.every_seconds // 24)
    seconds = job.every_seconds if well else max(1, min(soon, job.every_seconds))
    if seconds:
        with suppress(RedisError):  # it is begun again sooner
            redis.set(_rests_key(job.job_id), 1, ex=seconds)


def _rests_key(job_id: str) -> str:
    return f"rests:{job_id}"


def queue_figures(name: QueueName, redis: Redis) -> Iterator[Metric]:
    """Yield the jobs that wait, run, or failed within the last minute."""
    queue = open_queue(name, redis)
    counts = {
        "waiting": queue.count,
        "started": queue.started_job_registry.get_job_count(cleanup=False),
        "failed": int(redis.zcount(queue.failed_job_registry.key, time.time(), "+inf")),
    }
    family = GaugeMetricFamily(
        "service_jobs", "Jobs of a queue that are `waiting`, `started`, `failed`", labels=["queue", "state"]
    )
    for state, count in counts.items():
        family.add_metric([name.value, state], count)
    yield family
