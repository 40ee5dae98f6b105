"""Metrics of queues and of jobs, as a worker's internal port shows them."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

from prometheus_client import Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from redis import Redis
from redis.exceptions import RedisError

from service_common.jobs.once import count_heard
from service_common.jobs.queues import QueueName, open_queue

_Series = tuple[str, tuple[tuple[str, str], ...]]
_MOST: Final = 65_536
"""The size of a pipe; a job changes a few series of a hundred bytes."""
REPORT_SECONDS: Final = 5.0
"""How often a job reports meanwhile: as often as its worker looks after it."""


class QueueCollector(Collector):
    """Jobs that wait, run, or failed and are parked, read from Redis at each scrape.

    Every worker of a queue shows the same. A queue that cannot be read shows nothing, rather than zero. A scrape only
    looks: the library's own counts would take running jobs for abandoned by the clock of the machine that is scraped.
    """

    def __init__(self, names: Sequence[QueueName], redis: Redis) -> None:
        self._names, self._redis = names, redis

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The figures of this moment."""
        family = GaugeMetricFamily(
            "service_jobs", "Jobs of a queue that are `waiting`, `started`, `failed`", labels=["queue", "state"]
        )
        for name in self._names:
            try:
                queue = open_queue(name, self._redis)
                counts = {
                    "waiting": queue.count,
                    "started": count_heard(queue.started_job_registry),
                    "failed": queue.failed_job_registry.get_job_count(cleanup=False),
                }
            except RedisError:
                return
            for state, count in counts.items():
                family.add_metric([name.value, state], count)
        yield family


class Tally:
    """A job's counters, sent to its worker: the job runs in a forked child, whose counters end with it.

    A job counts with ordinary counters, as code does that answers requests. Its child sends what they rose by through a
    pipe when it ends, one that goes on for minutes also meanwhile, and the worker adds it to its own, which the
    internal port shows. A job that is killed takes along what it has not sent. Made before the worker forks; one job
    runs at a time.
    """

    def __init__(self, counters: Sequence[Counter]) -> None:
        self._counters = {family.name: counter for counter in counters for family in counter.collect()}
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._reading, False)
        os.set_blocking(self._writing, False)  # a worker that stands still, or is gone, keeps no job from its end
        self._sent: dict[_Series, float] = {}

    @contextmanager
    def reported(self, *, meanwhile: bool = False) -> Iterator[None]:
        """Around the job, in its own process: report what it counts, however it ends, and ``meanwhile``."""
        self._sent = self._figures()
        ended = Event()
        reporting = Thread(target=self._report_until, args=(ended,), name="tally", daemon=True)
        if meanwhile:
            reporting.start()
        try:
            yield
        finally:
            ended.set()
            if meanwhile:
                reporting.join()
            self._report()

    def add_reported(self) -> None:
        """In the worker, while the job runs and after it."""
        try:
            reports = os.read(self._reading, _MOST)
        except BlockingIOError:  # nothing was reported
            return
        for line in reports.splitlines(keepends=True):
            if line.endswith(b"\n"):  # else it was killed while it reported
                name, labels, rise = json.loads(line)
                counter = self._counters[name]
                (counter.labels(**dict(labels)) if labels else counter).inc(rise)

    def _report_until(self, ended: Event) -> None:
        while not ended.wait(REPORT_SECONDS):
            self._report()

    def _report(self) -> None:
        """A line for each series that rose, which a pipe takes whole or not at all; what it has no room for comes with
        the next report."""
        for series, figure in self._figures().items():
            if rise := figure - self._sent.get(series, 0.0):
                try:
                    os.write(self._writing, json.dumps([*series, rise]).encode() + b"\n")
                except BlockingIOError:
                    return
                self._sent[series] = figure

    def _figures(self) -> dict[_Series, float]:
        return {
            (family.name, tuple(sample.labels.items())): sample.value
            for counter in self._counters.values()
            for family in counter.collect()
            for sample in family.samples
            if sample.name.endswith("_total")
        }
