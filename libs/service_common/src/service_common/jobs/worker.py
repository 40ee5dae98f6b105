"""Running one worker process.

Promises: a job runs in a forked child, so that a crash or an endless loop ends one job and not the worker; SIGTERM
lets the running job finish within its own bound; failed jobs stay visible in their queue's failed registry. A queue
server that goes away, also in the middle of a job, ends neither the job nor the worker: it begins anew. Where traces
are on, a job is a span in the trace it was enqueued in, sent by the child before it ends; a job that goes on for long
is none, its steps are.
"""

import time
from collections.abc import Collection, Sequence
from typing import Final

from prometheus_client.registry import REGISTRY
from redis import Redis
from redis.exceptions import RedisError
from rq import Worker
from rq.exceptions import DeserializationError, StopRequested
from rq.job import Job
from rq.serializers import JSONSerializer

from service_common.jobs.metrics import QueueCollector
from service_common.jobs.queues import QueueName, open_queue
from service_common.log import correlation_id, get_logger
from service_common.traces import port as traces
from service_common.traces.setup import in_forked_child

_PAUSE_SECONDS: Final = 1.0

log = get_logger(__name__)


class _CorrelatedWorker(Worker):
    """A worker whose log lines and spans name the job."""

    in_steps: Collection[str] = ()

    def perform_job(self, job, queue):  # type: ignore[no-untyped-def]  # RQ gives it no types
        correlation_id.set(job.id)
        if traces.used.tracer is None:
            return super().perform_job(job, queue)
        with in_forked_child():
            function = _function(job)
            if function in self.in_steps:
                return super().perform_job(job, queue)
            with traces.consumer(
                f"process {queue.name}", _attributes(job, queue.name, function), _carrier(job)
            ) as span:
                done = super().perform_job(job, queue)
                if not done:  # RQ has kept the exception, and its words
                    span.note({"error.type": "job_failed"})
                    span.fail()
                return done


def run_worker(names: Sequence[QueueName], connection: Redis, *, in_steps: Collection[str] = ()) -> None:
    """Work until SIGTERM or SIGINT; what the queues hold is told on the internal port.

    ``in_steps`` are functions whose jobs go on for long and make spans of their steps by themselves.
    """
    for name in names:
        REGISTRY.register(QueueCollector(name, connection))
    while True:
        worker = _CorrelatedWorker(
            [open_queue(name, connection) for name in names],
            connection=connection,
            serializer=JSONSerializer,
            job_monitoring_interval=5,
        )
        worker.in_steps = in_steps
        try:
            worker.work(logging_level="WARNING", with_scheduler=False)
            if worker._shutdown_requested_date is not None:  # noqa: SLF001  # RQ says it nowhere else
                return
            log.warning("the worker gave up and starts again")
            time.sleep(_PAUSE_SECONDS)
        except StopRequested:
            return
        except RedisError as error:
            log.warning("the queue server went away; the worker starts again", exc_info=error)
            time.sleep(_PAUSE_SECONDS)


def _function(job: Job) -> str:
    try:
        return str(job.func_name)
    except DeserializationError:
        return "unreadable"  # RQ says so when it performs the job


def _attributes(job: Job, queue: str, function: str) -> dict[str, str]:
    return {
        "messaging.system": "rq",
        "messaging.destination.name": queue,
        "messaging.message.id": job.id,
        "code.function.name": function,
        "service.correlation_id": job.id,
    }


def _carrier(job: Job) -> dict[str, str]:
    """The trace the job was enqueued in, if its enqueuer was in one."""
    traceparent = job.meta.get("traceparent")
    return {"traceparent": traceparent} if isinstance(traceparent, str) else {}
