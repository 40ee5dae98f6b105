"""Running one worker process.

Promises: a job runs in a forked child, so that a crash or an endless loop ends one job and not the worker; SIGTERM
lets the running job finish within its own bound; failed jobs stay visible in their queue's failed registry.
"""

from collections.abc import Sequence

from prometheus_client.registry import REGISTRY
from redis import Redis
from rq import Worker
from rq.serializers import JSONSerializer

from service_common.jobs.metrics import QueueCollector
from service_common.jobs.queues import QueueName, open_queue
from service_common.log import correlation_id


class _CorrelatedWorker(Worker):
    """A worker whose log lines name the job."""

    def perform_job(self, job, queue):  # type: ignore[no-untyped-def]  # RQ gives it no types
        correlation_id.set(job.id)
        return super().perform_job(job, queue)


def run_worker(names: Sequence[QueueName], connection: Redis) -> None:
    """Work until SIGTERM or SIGINT; what the queues hold is told on the internal port."""
    for name in names:
        REGISTRY.register(QueueCollector(name, connection))
    worker = _CorrelatedWorker(
        [open_queue(name, connection) for name in names],
        connection=connection,
        serializer=JSONSerializer,
        job_monitoring_interval=5,
    )
    worker.work(logging_level="WARNING", with_scheduler=False)
