"""How much work queues hold, as metrics, read from Redis at each scrape: every worker of a queue says the same.

Promises: a queue that cannot be read tells nothing, rather than zero.
"""

from collections.abc import Iterator, Sequence

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from redis import Redis
from redis.exceptions import RedisError

from service_common.jobs.queues import QueueName, open_queue


class QueueCollector(Collector):
    """Jobs that wait, are at work, or failed and are parked."""

    def __init__(self, names: Sequence[QueueName], redis: Redis) -> None:
        self._names, self._redis = names, redis

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The figures of this moment."""
        family = GaugeMetricFamily("service_jobs", "Jobs of a queue by state", labels=["queue", "state"])
        for name in self._names:
            try:
                queue = open_queue(name, self._redis)
                counts = {
                    "waiting": queue.count,
                    "started": queue.started_job_registry.count,
                    "failed": queue.failed_job_registry.count,
                }
            except RedisError:
                return
            for state, count in counts.items():
                family.add_metric([name.value, state], count)
        yield family
