"""What a forked job counts is counted by its worker, once, and nothing is invented."""

import os
import signal
from collections.abc import Callable, Iterator

import pytest
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from service_common.bounded import BoundedCollector
from service_common.jobs.metrics import Tally


class Counted:
    """A worker's counters and their tally."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.kinds = Counter("things_total", "Things", ["kind"], registry=self.registry)
        self.bytes = Counter("size_bytes_total", "Bytes", registry=self.registry)
        self.tally = Tally((self.kinds, self.bytes))

    def start(self, job: Callable[[], None], *, meanwhile: bool = False) -> int:
        """Start a job in a child, as the worker does; the child."""
        child = os.fork()
        if child == 0:
            try:
                with self.tally.reported(meanwhile=meanwhile):
                    job()
            finally:
                os._exit(0)
        return child

    def run(self, job: Callable[[], None]) -> int:
        """The same; how the child ended."""
        return os.waitpid(self.start(job), 0)[1]

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
    os.write(counted.tally._writing, b'["size_bytes", [], 9')  # as one that is killed while it tells
    counted.tally.add_reported()
    assert counted.figures() == (None, 0)
    counted.run(lambda: counted.bytes.inc(1))
    counted.tally.add_reported()
    assert counted.figures() == (None, 1)


def test_counters__of_a_job_that_goes_on__are_told_meanwhile_and_outlive_its_kill(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service_common.jobs.metrics.REPORT_SECONDS", 0.01)
    told, tells = os.pipe()

    def killed() -> None:
        counted.bytes.inc(7)
        os.read(told, 1)  # until the worker has heard of it
        counted.bytes.inc(2)
        os.kill(os.getpid(), signal.SIGKILL)

    child = counted.start(killed, meanwhile=True)
    while counted.figures() == (None, 0):
        counted.tally.add_reported()
    assert counted.figures() == (None, 7)
    os.write(tells, b"x")
    os.waitpid(child, 0)
    counted.tally.add_reported()
    assert counted.figures()[1] in {7, 9}
    counted.run(lambda: counted.bytes.inc(1))
    counted.tally.add_reported()
    assert counted.figures()[1] in {8, 10}


def test_counters__that_the_worker_never_takes__keep_no_job_from_its_end(counted: Counted) -> None:
    for _ in range(2_000):  # a pipe takes about 1,600 such lines
        counted.tally._sent = {}
        counted.bytes.inc(1)
        counted.tally._report()
    assert counted.run(lambda: counted.bytes.inc(1)) == 0


def test_counters__of_jobs_whose_worker_was_away__are_taken_in_together(counted: Counted) -> None:
    for _ in range(3):
        counted.run(lambda: counted.bytes.inc(1))
    counted.tally.add_reported()
    assert counted.figures() == (None, 3)


def test_figures__that_cannot_be_read__leave_the_others_where_they_are() -> None:
    class Failing(Collector):
        def collect(self) -> Iterator[Metric]:
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "what a key holds")

    registry = CollectorRegistry()
    registry.register(BoundedCollector(Failing()))
    Counter("kept_total", "Kept", registry=registry).inc()
    assert registry.get_sample_value("kept_total") == 1
