"""What a forked job counts is counted by its worker, once, and nothing is invented."""

import os
import signal
from collections.abc import Callable

import pytest
from prometheus_client import CollectorRegistry, Counter
from service_common.jobs.metrics import Tally


class Counted:
    """A worker's counters and their tally."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.kinds = Counter("things_total", "Things", ["kind"], registry=self.registry)
        self.bytes = Counter("size_bytes_total", "Bytes", registry=self.registry)
        self.tally = Tally((self.kinds, self.bytes))

    def run(self, job: Callable[[], None]) -> int:
        """Run a job in a child, as the worker does; how the child ended."""
        child = os.fork()
        if child == 0:
            try:
                with self.tally.reported():
                    job()
            finally:
                os._exit(0)
        return os.waitpid(child, 0)[1]

    def figures(self) -> tuple[float | None, float | None]:
        kind = self.registry.get_sample_value("things_total", {"kind": "one"})
        return kind, self.registry.get_sample_value("size_bytes_total")


@pytest.fixture
def counted() -> Counted:
    return Counted()


def test_counters__of_jobs_one_after_the_other__add_up_in_the_worker(counted: Counted) -> None:
    def job() -> None:
        counted.kinds.labels("one").inc()
        counted.bytes.inc(2.5)

    assert counted.figures() == (None, 0)
    for told in ((1, 2.5), (2, 5.0), (3, 7.5)):
        counted.run(job)
        counted.tally.add_reported()
        counted.tally.add_reported()  # what was added is not there any more
        assert counted.figures() == told


def test_counters__of_a_job_that_raises__are_told(counted: Counted) -> None:
    def job() -> None:
        counted.bytes.inc(7)
        raise RuntimeError

    counted.run(job)
    counted.tally.add_reported()
    assert counted.figures() == (None, 7)


def test_counters__of_a_killed_job__are_lost_and_the_next_ones_are_not(counted: Counted) -> None:
    def killed() -> None:
        counted.bytes.inc(7)
        os.kill(os.getpid(), signal.SIGKILL)

    assert counted.run(killed) == signal.SIGKILL
    counted.tally.add_reported()
    os.write(counted.tally._writing, b'[["size_bytes", [], 9')  # as one that is killed while it tells
    counted.tally.add_reported()
    assert counted.figures() == (None, 0)
    counted.run(lambda: counted.bytes.inc(1))
    counted.tally.add_reported()
    assert counted.figures() == (None, 1)


def test_counters__of_jobs_whose_worker_was_away__are_taken_in_together(counted: Counted) -> None:
    for _ in range(3):
        counted.run(lambda: counted.bytes.inc(1))
    counted.tally.add_reported()
    assert counted.figures() == (None, 3)
