"""Jobs that a worker's own queue gets repeatedly.

However many workers run, a job is enqueued once in its interval and never beside itself. Losing Redis, the worker or a
run costs one interval and no fact, since such a job looks at what is there. A run that finds no index yet, or no
database, is no failure of the job: it is left to the next one. A run that fails, or reaches its time, is replaced by
the next one and is not parked for long: how many intervals ago one ended well is what shows that none does.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from threading import Event, Thread
from typing import Final

from bounty_protocol.errors import ServiceError
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import REGISTRY, Collector
from redis import Redis
from redis.exceptions import RedisError

from service_common.bounded import BoundedCollector
from service_common.db.errors import DatabaseUnavailable
from service_common.db.hub_facts import INDEX_UNAVAILABLE
from service_common.forking import no_fork_during
from service_common.jobs.leases import take_lease
from service_common.jobs.once import enqueue_once
from service_common.jobs.queues import QueueName, message
from service_common.kept_numbers import kept_number
from service_common.log import get_logger

_LOOK_SECONDS: Final = 5.0
_CLOCKS_DIFFER_SECONDS: Final = 600.0
_PREFIX: Final = "periodic-"

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Periodic:
    """One job: its function, how often it runs, how long a run may take."""

    queue: QueueName
    function: str
    every_seconds: int
    run_seconds: int

    @property
    def job_id(self) -> str:
        """The same for every run, so that two never run side by side."""
        return _PREFIX + self.function.replace(".", "-").replace("_", "-")


Run = Callable[[Mapping[str, object]], int]
"""A job that takes one message; how much it did."""


def left_to_the_next(job: Run) -> Run:
    """The same job, which does nothing while there is no index or no database; others watch those."""

    @wraps(job)
    def run(received: Mapping[str, object]) -> int:
        try:
            return job(received)
        except DatabaseUnavailable:
            log.warning("left to the next run", job=job.__name__, reason="the database does not answer")
        except ServiceError as error:
            if error.code != INDEX_UNAVAILABLE:
                raise
            log.warning("left to the next run", job=job.__name__, reason=error.message)
        return 0

    return run


def start_periodic(jobs: Sequence[Periodic], redis: Redis) -> None:
    """Enqueue what is due from now on, and show how they fare; ``redis`` is no worker's connection."""
    REGISTRY.register(BoundedCollector(PeriodicCollector(jobs, redis)))
    keep_enqueuing(lambda: enqueue_due(jobs, redis), _LOOK_SECONDS)


def keep_enqueuing(enqueue: Callable[[], object], every_seconds: float) -> None:
    """Look again and again, in a thread that ends with the process, whatever a key of Redis holds."""

    def keep() -> None:
        pause = Event()
        while True:
            try:
                with no_fork_during():
                    enqueue()
            except RedisError as error:
                log.warning("cannot enqueue", reason=type(error).__name__)
            except Exception:
                log.exception("cannot enqueue")
            pause.wait(every_seconds)

    Thread(target=keep, daemon=True, name="enqueuing").start()


def enqueue_due(jobs: Sequence[Periodic], redis: Redis) -> list[str]:
    """Enqueue each job whose interval has passed; the functions of those."""
    return [job.function for job in jobs if _enqueue(job, redis)]


def _enqueue(job: Periodic, redis: Redis) -> bool:
    if not take_lease(redis, f"lease:{job.job_id}", job.every_seconds):
        return False
    redis.set(_ended_well(job.job_id), int(time.time()), nx=True)  # counted from here where no run is known
    return enqueue_once(redis, job.queue, job.function, message(), job.job_id, seconds=job.run_seconds)


def note_ended_well(redis: Redis, job_id: str) -> None:
    """A worker reports that a run has ended well; of a job that is not periodic, nothing."""
    if job_id.startswith(_PREFIX):
        redis.set(_ended_well(job_id), int(time.time()))


class PeriodicCollector(Collector):
    """How long none of a job's runs has ended well, in its intervals: nothing where Redis has no time of one, and
    without end where it has what no worker wrote, until a run ends well."""

    def __init__(self, jobs: Sequence[Periodic], redis: Redis) -> None:
        self._jobs, self._redis = jobs, redis

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The figures of this moment."""
        family = GaugeMetricFamily(
            "service_periodic_intervals", "Intervals since a run of a periodic job ended well", labels=["function"]
        )
        for job in self._jobs:
            ended = self._redis.get(_ended_well(job.job_id))
            if isinstance(ended, bytes):
                family.add_metric([job.function], _seconds_since(ended) / job.every_seconds)
        yield family


def _seconds_since(ended: bytes) -> float:
    now = time.time()
    at = kept_number(ended, round(now + _CLOCKS_DIFFER_SECONDS))
    return math.inf if at is None else max(0.0, now - at)


def _ended_well(job_id: str) -> str:
    return f"ended-well:{job_id}"
