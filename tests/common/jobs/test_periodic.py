"""How long no run of a periodic job has ended well, on a real server with a real worker."""

import math
import time
from collections.abc import Mapping
from typing import Final

import pytest
from redis import Redis
from service_common.bounded import BoundedCollector
from service_common.jobs.metrics import Tally
from service_common.jobs.periodic import Periodic, PeriodicCollector, enqueue_due
from service_common.jobs.queues import QueueName, check_message
from service_common.jobs.worker import make_worker

HERE: Final = __name__
SWEEP: Final = Periodic(QueueName.ARTIFACTS, f"{HERE}.sweep", every_seconds=3_600, run_seconds=60)
STUCK: Final = Periodic(QueueName.ARTIFACTS, f"{HERE}.stuck", every_seconds=60, run_seconds=1)


def sweep(received: Mapping[str, object]) -> int:
    """A job that ends well."""
    check_message(received)
    return 0


def stuck(_: Mapping[str, object]) -> None:
    """A job that reaches its time."""
    time.sleep(20)


def intervals(redis: Redis) -> dict[str, float]:
    (family,) = BoundedCollector(PeriodicCollector([SWEEP, STUCK], redis)).collect()
    return {sample.labels["function"]: sample.value for sample in family.samples}


def make_late(redis: Redis, seconds: int) -> None:
    """As it is so long after a run of each job ended well, in the next interval."""
    for job in (SWEEP, STUCK):
        redis.set(f"ended-well:{job.job_id}", int(time.time()) - seconds)
        redis.delete(f"lease:{job.job_id}")


def test_jobs__that_end_and_that_do_not__are_told_apart(redis: Redis) -> None:
    assert intervals(redis) == {}
    enqueue_due([SWEEP, STUCK], redis)
    assert {name: int(late) for name, late in intervals(redis).items()} == {SWEEP.function: 0, STUCK.function: 0}
    make_late(redis, 7_200)
    enqueue_due([SWEEP, STUCK], redis)  # keeps the times
    assert {name: int(late) for name, late in intervals(redis).items()} == {SWEEP.function: 2, STUCK.function: 120}
    worker = make_worker([QueueName.ARTIFACTS], redis, Tally(()), module=HERE)
    worker.work(burst=True, logging_level="CRITICAL")
    assert {name: int(late) for name, late in intervals(redis).items()} == {SWEEP.function: 0, STUCK.function: 120}


@pytest.mark.attack
@pytest.mark.parametrize("kept", ["soon", "9" * 12, "9" * 400, "\u0661", "-5", ""])
def test_time__that_no_worker_wrote__is_as_late_as_can_be(redis: Redis, kept: str) -> None:
    enqueue_due([SWEEP, STUCK], redis)
    redis.set(f"ended-well:{SWEEP.job_id}", kept)
    found = intervals(redis)
    assert found[SWEEP.function] == math.inf
    assert int(found[STUCK.function]) == 0
