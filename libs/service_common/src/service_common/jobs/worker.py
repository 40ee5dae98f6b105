"""Running one worker process.

Promises: a job runs in a forked child, so that a crash or an endless loop ends one job and not the worker; SIGTERM
lets the running job finish within its own bound; failed jobs stay visible in their queue's failed registry. A queue
server that goes away, also in the middle of a job, ends neither the job nor the worker: it begins anew. How long jobs
take, and what they count, is told on the worker's internal port; where traces are on, a job is a span (``spans``).
"""

import time
from collections.abc import Collection, Sequence
from typing import Final

from prometheus_client import Counter, Histogram
from prometheus_client.registry import REGISTRY
from redis import Redis
from redis.exceptions import RedisError
from rq import Worker
from rq.exceptions import StopRequested
from rq.serializers import JSONSerializer

from service_common.bounded import BoundedCollector
from service_common.jobs.metrics import QueueCollector
from service_common.jobs.once import give_sign, keep_heard
from service_common.jobs.queues import QueueName, open_queue
from service_common.jobs.spans import job_span
from service_common.jobs.tally import Tally
from service_common.log import correlation_id, get_logger

JOB_SECONDS: Final = Histogram(
    "service_job_seconds",
    "Time from a job's start to its end, by queue",
    ["queue"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 600, 3_600),
)
_PAUSE_SECONDS: Final = 1.0

log = get_logger(__name__)


class _CorrelatedWorker(Worker):
    """A worker whose log lines and spans name the job, that says what it is at, and takes in what the job counted."""

    tally: Tally
    in_steps: Collection[str] = ()

    def prepare_execution(self, job):  # type: ignore[no-untyped-def]  # RQ gives it no types
        give_sign(self.connection, job.id)  # before the job counts as started
        return super().prepare_execution(job)

    def maintain_heartbeats(self, job):  # type: ignore[no-untyped-def]
        give_sign(self.connection, job.id)
        super().maintain_heartbeats(job)

    def clean_registries(self):  # type: ignore[no-untyped-def]
        for queue in self.queues:
            keep_heard(queue.started_job_registry)
        super().clean_registries()  # type: ignore[no-untyped-call]

    def perform_job(self, job, queue):  # type: ignore[no-untyped-def]
        """In the job's own process."""
        correlation_id.set(job.id)
        with self.tally.telling(), job_span(job, queue.name, self.in_steps) as ended:
            done = super().perform_job(job, queue)
            ended(done)
        return done

    def execute_job(self, job, queue):  # type: ignore[no-untyped-def]
        """In the worker, from the fork to the child's end."""
        with JOB_SECONDS.labels(queue.name).time():
            super().execute_job(job, queue)
        self.tally.take_in()


def run_worker(
    names: Sequence[QueueName],
    connection: Redis,
    counters: Sequence[Counter] = (),
    *,
    in_steps: Collection[str] = (),
) -> None:
    """Work until SIGTERM or SIGINT; what the queues hold, and ``counters`` of their jobs, the internal port tells.

    ``in_steps`` are functions whose jobs go on for long and make spans of their steps by themselves.
    """
    tally = Tally(counters)
    REGISTRY.register(BoundedCollector(QueueCollector(names, connection)))
    for name in names:
        JOB_SECONDS.labels(name.value)
    log.info("started", queues=[name.value for name in names])
    while True:
        worker = _CorrelatedWorker(
            [open_queue(name, connection) for name in names],
            connection=connection,
            serializer=JSONSerializer,
            job_monitoring_interval=5,
        )
        worker.tally = tally
        worker.in_steps = in_steps
        try:
            worker.work(logging_level="WARNING", with_scheduler=False)
            if worker._shutdown_requested_date is not None:  # noqa: SLF001  # RQ says it nowhere else
                log.info("stopped")
                return
            log.warning("the worker gave up and starts again")
            time.sleep(_PAUSE_SECONDS)
        except StopRequested:
            log.info("stopped")
            return
        except RedisError as error:
            log.warning("the queue server went away; the worker starts again", exc_info=error)
            time.sleep(_PAUSE_SECONDS)
