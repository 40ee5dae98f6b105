"""Running one worker process.

Promises: a job runs in a forked child, so that a crash or an endless loop ends one job and not the worker; SIGTERM
lets the running job finish within its own bound; failed jobs stay visible in their queue's failed registry. A queue
server that goes away, also in the middle of a job, ends neither the job nor the worker: it begins anew.
"""

import time
from collections.abc import Sequence
from typing import Final

from prometheus_client.registry import REGISTRY
from redis import Redis
from redis.exceptions import RedisError
from rq import Worker
from rq.exceptions import StopRequested
from rq.serializers import JSONSerializer

from service_common.jobs.metrics import QueueCollector
from service_common.jobs.once import give_sign, keep_heard
from service_common.jobs.queues import QueueName, open_queue
from service_common.log import correlation_id, get_logger

_PAUSE_SECONDS: Final = 1.0

log = get_logger(__name__)


class _CorrelatedWorker(Worker):
    """A worker whose log lines name the job, and that says what it is at."""

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
        correlation_id.set(job.id)
        return super().perform_job(job, queue)


def run_worker(names: Sequence[QueueName], connection: Redis) -> None:
    """Work until SIGTERM or SIGINT; what the queues hold is told on the internal port."""
    for name in names:
        REGISTRY.register(QueueCollector(name, connection))
    while True:
        worker = _CorrelatedWorker(
            [open_queue(name, connection) for name in names],
            connection=connection,
            serializer=JSONSerializer,
            job_monitoring_interval=5,
        )
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
