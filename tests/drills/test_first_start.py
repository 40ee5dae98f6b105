"""A deployment that starts with an empty database, and before its chain can be reached: every job that is enqueued by
itself runs, finds nothing to do, and leaves nothing that somebody would have to look at. Nor does losing all of Redis.

Run by ``./noxw -s nightly -- outages``.
"""

import time
from collections.abc import Iterator

import pytest
from local_stack.launch import RunningProcess
from local_stack.services import MIGRATE, SERVICES
from local_stack.stack import Stack, StackSettings, running_stack
from redis import Redis
from service_common.jobs import QueueName, connect, open_queue

from tests.campaign import size
from tests.drills.scene import eventually

LOST = 3
"""How often Redis loses everything."""


@pytest.fixture
def stack() -> Iterator[Stack]:
    with running_stack(StackSettings(services=())) as made:
        made.launcher.finish(made.launcher.start_once(MIGRATE))
        yield made


def started(stack: Stack) -> list[RunningProcess]:
    """Every process that runs jobs; some are not ready before there is a chain."""
    processes = [RunningProcess(stack.launcher, each) for each in SERVICES if not each.serves]
    for each in processes:
        each.start()
    return processes


def is_followed(redis: Redis) -> bool:
    return bool(open_queue(QueueName.INDEX, redis).started_job_registry.get_job_ids(cleanup=False))


def parked(redis: Redis) -> dict[str, list[str]]:
    failed = {name.value: open_queue(name, redis).failed_job_registry.get_job_ids() for name in QueueName}
    return {name: ids for name, ids in failed.items() if ids}


def test_first_start_parks_no_job(stack: Stack) -> None:
    stack.anvil.kill()
    started(stack)
    redis = connect(stack.valkey.url())
    eventually(lambda: len(list(redis.scan_iter("rests:*"))) >= 4)
    ends = time.monotonic() + size(20, 600)
    while time.monotonic() < ends:
        time.sleep(1)
        assert parked(redis) == {}


def test_redis_that_loses_everything_parks_no_job(stack: Stack) -> None:
    processes = started(stack)
    redis = connect(stack.valkey.url())
    eventually(lambda: is_followed(redis))
    for _ in range(LOST):
        stack.valkey.kill()
        stack.valkey.restart()
        redis.flushall()
        time.sleep(3)
        for each in processes:  # what ran through it ends while its successor is there
            if each.process.name == "indexer-worker":
                each.stop()
                each.restart()
    eventually(lambda: is_followed(redis))
    eventually(lambda: parked(redis) == {})
    stack.check()
