"""Running one worker process.

A job runs in a forked child, so that a crash or an endless loop ends one job and not the worker; SIGTERM lets the
running job finish within its own bound; failed jobs stay visible in their queue's failed registry. A queue server that
goes away, also in the middle of a job, ends neither the job nor the worker: it starts again.

Redis is believed about what there is to do, not about what that means: a worker has its service's Secrets, and RQ would
call whatever function of Python a job names. It calls the functions of one module alone, and none before or after.
"""

import gc
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from importlib import import_module
from inspect import isfunction
from typing import ClassVar, Final

from prometheus_client import Counter, Histogram
from prometheus_client.registry import REGISTRY
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError
from rq import Worker
from rq.exceptions import DeserializationError, StopRequested
from rq.job import Job
from rq.serializers import JSONSerializer
from rq.utils import now

from service_common.bounded import BoundedCollector
from service_common.jobs.metrics import QueueCollector, Tally
from service_common.jobs.once import forget_lost_failures, give_sign, keep_heard
from service_common.jobs.periodic import note_ended_well
from service_common.jobs.queues import QueueName, open_queue
from service_common.jobs.stored import StoredJob
from service_common.log import correlation_id, get_logger

JOB_SECONDS: Final = Histogram(
    "service_job_seconds",
    "Time from a job's start to its end, by queue",
    ["queue"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 600, 3_600),
)
_PAUSE_SECONDS: Final = 1.0

log = get_logger(__name__)


class ForeignJob(Exception):
    """A job that names another function than those of its worker; it is parked."""


class OwnJob(StoredJob):
    """A job as a worker reads it: a function that ``module`` defines, and nothing else of what RQ would do for it."""

    module: ClassVar[str] = ""

    def perform(self):  # type: ignore[no-untyped-def]
        """What the job names; ``ForeignJob`` where that is no public function of the module."""
        module, _, name = str(self.func_name).rpartition(".")
        function = getattr(import_module(self.module), name, None) if module == self.module else None
        if name.startswith("_") or not isfunction(function) or function.__module__ != self.module:
            raise ForeignJob(f"{self.func_name!r} is no job of this worker's, which has those of {self.module}")
        return super().perform()


class _CorrelatedWorker(Worker):
    """A worker whose log lines name the job, reports which it runs, and adds what it counted."""

    tally: Tally
    in_steps: Collection[str] = ()

    def check_for_suspension(self, burst):  # type: ignore[no-untyped-def]  # RQ gives it no types
        """One key in Redis, ``rq:suspended``, would have every worker stand still, and none log it. Nothing sets it."""

    def subscribe(self):  # type: ignore[no-untyped-def]
        """RQ's commands end a worker, or its job, for anyone who publishes one. Nothing sends them."""

    def prepare_execution(self, job):  # type: ignore[no-untyped-def]  # RQ gives it no types
        give_sign(self.connection, job.id)  # before the job counts as started
        return super().prepare_execution(job)

    def maintain_heartbeats(self, job):  # type: ignore[no-untyped-def]
        give_sign(self.connection, job.id)
        self.tally.add_reported()
        super().maintain_heartbeats(job)
        self._forget_ended(job)

    def _forget_ended(self, job: Job) -> None:
        """Delete the record of an execution that was written anew just after its job's process had deleted it. RQ reads
        it when the next job of that id ends, and takes that job for failed since half of it is missing."""
        if self.execution is None or self.connection.hexists(self.execution.key, "created_at"):
            return
        with self.connection.pipeline() as pipeline:
            self.execution.delete(job, pipeline)
            pipeline.execute()

    def run_maintenance_tasks(self):  # type: ignore[no-untyped-def]
        """What cannot be read of lost jobs keeps nobody from those that wait."""
        try:
            super().run_maintenance_tasks()  # type: ignore[no-untyped-call]
        except (StopRequested, RedisConnectionError, RedisTimeoutError):
            raise
        except Exception:  # RQ has one for each field that is malformed
            self.last_cleaned_at = now()  # type: ignore[assignment]
            log.exception("cannot clean up after lost jobs")

    def clean_registries(self):  # type: ignore[no-untyped-def]
        for queue in self.queues:
            keep_heard(queue.started_job_registry)
        super().clean_registries()  # type: ignore[no-untyped-call]
        for queue in self.queues:
            forget_lost_failures(queue.failed_job_registry)

    def perform_job(self, job, queue):  # type: ignore[no-untyped-def]
        """In the job's own process."""
        correlation_id.set(job.id)
        goes_on = _function(job) in self.in_steps
        with self.tally.reported(meanwhile=goes_on):
            done = super().perform_job(job, queue)
        if done:
            with suppress(RedisError):  # the job is done; the next run notes it again
                note_ended_well(self.connection, job.id)
        return done

    def execute_job(self, job, queue):  # type: ignore[no-untyped-def]
        """In the worker, from the fork to the child's end."""
        with JOB_SECONDS.labels(queue.name).time():
            super().execute_job(job, queue)
        self.tally.add_reported()


def run_worker(
    names: Sequence[QueueName],
    connection: Redis,
    counters: Sequence[Counter] = (),
    *,
    module: str,
    in_steps: Collection[str] = (),
) -> None:
    """Work until SIGTERM or SIGINT; the internal port shows what the queues hold, and ``counters`` of their jobs.

    ``module`` defines the functions that a job may name, every public one.
    ``in_steps`` are functions whose jobs go on for minutes: what they count is shown meanwhile.
    """
    tally = Tally(counters)
    REGISTRY.register(BoundedCollector(QueueCollector(names, connection)))
    for name in names:
        JOB_SECONDS.labels(name.value)
    # A job's process shares what is made by now: collections there would read all of it, find nothing, copy its pages.
    gc.collect()
    gc.freeze()
    log.info("started", queues=[name.value for name in names])
    while True:
        worker = make_worker(names, connection, tally, module=module, in_steps=in_steps)
        try:
            worker.work(logging_level="WARNING", with_scheduler=False)
            if worker._shutdown_requested_date is not None:  # noqa: SLF001  # RQ shows it nowhere else
                log.info("stopped")
                return
            log.warning("the worker gave up and starts again")
            time.sleep(_PAUSE_SECONDS)
        except StopRequested:
            log.info("stopped")
            return
        except RedisError as error:
            log.warning("the connection to the queue server was lost; the worker starts again", exc_info=error)
            time.sleep(_PAUSE_SECONDS)


def make_worker(
    names: Sequence[QueueName], connection: Redis, tally: Tally, *, module: str, in_steps: Collection[str] = ()
) -> Worker:
    """A worker of RQ's that reads each job, also one that another worker lost, as its own; as for ``run_worker``."""
    own = type("OwnJob", (OwnJob,), {"module": module})
    worker = _CorrelatedWorker(
        [open_queue(name, connection, own) for name in names],
        connection=connection,
        serializer=JSONSerializer,
        job_class=own,
        job_monitoring_interval=5,
    )
    worker.tally = tally
    worker.in_steps = in_steps
    return worker


def must_stop(redis: Redis, worker: str) -> bool:
    """Whether a worker was asked to end; for a job of it that goes on for long, to end before its time."""
    return bool(redis.hexists(f"rq:worker:{worker}", "shutdown_requested_date"))


def _function(job: Job) -> str:
    try:
        return str(job.func_name)
    except DeserializationError:
        return "unreadable"  # RQ reports it when it performs the job
