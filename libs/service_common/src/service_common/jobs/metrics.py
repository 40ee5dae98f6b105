"""How much work a queue holds, as metrics, read from Redis at each scrape: every worker of a queue says the same.

Promises: a queue that cannot be read tells nothing, rather than zero.
"""

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from redis import Redis
from redis.exceptions import RedisError

from service_common.jobs.queues import QueueName, open_queue


class QueueCollector(Collector):
    """Jobs that wait, are at work, or failed and are parked."""

    def __init__(self, name: QueueName, redis: Redis) -> None:
        self._name, self._redis = name, redis

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The figures of this moment."""
        family = GaugeMetricFamily("service_jobs", "Jobs of a queue by state", labels=["queue", "state"])
        try:
            queue = open_queue(self._name, self._redis)
            counts = {
                "waiting": queue.count,
                "started": queue.started_job_registry.count,
                "failed": queue.failed_job_registry.count,
            }
        except RedisError:
            return
        for state, count in counts.items():
            family.add_metric([self._name.value, state], count)
        yield family
