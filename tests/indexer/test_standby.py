"""Without the scheduler: any worker starts the follower, and the settler's worker its own looks."""

import time

import psycopg
import pytest
from local_stack.services import SERVICES
from local_stack.stack import DATABASE, Stack, StackSettings, running_stack
from redis import Redis
from service_common.jobs.queues import QueueName, open_queue
from service_indexer.config import IndexerConfig
from service_indexer.scheduler import LEASE_SECONDS, SETTLE_SECONDS, STANDBY_LOOKS, Standby, ensure_following, lease_key

from tests.world import World

from .test_replay import config_of

GOES_ON_SECONDS = 30


@pytest.fixture
def config(world: World) -> IndexerConfig:
    return config_of(world, world.node.url)


def queued(redis: Redis, queue: QueueName) -> int:
    return len(open_queue(queue, redis).job_ids)


def test_workers__that_miss_the_follower__start_one_between_them(config: IndexerConfig, redis: Redis) -> None:
    workers = [Standby(config, QueueName.INDEX, lambda: False) for _ in range(3)]
    for _ in range(STANDBY_LOOKS - 1):
        assert not any(worker.look(redis) for worker in workers), "the scheduler may be about to"
    assert [worker.look(redis) for worker in workers] == [True, False, False]
    assert queued(redis, QueueName.INDEX) == 1
    assert not any(worker.look(redis) for worker in workers for _ in range(STANDBY_LOOKS))
    assert not ensure_following(config, redis), "a scheduler that is back finds it"
    assert queued(redis, QueueName.INDEX) == 1


def test_worker__while_a_follower_holds_its_lease__starts_none_and_counts_anew(
    config: IndexerConfig, redis: Redis
) -> None:
    worker = Standby(config, QueueName.INDEX, lambda: False)
    for _ in range(2):
        for _ in range(STANDBY_LOOKS - 1):
            assert not worker.look(redis)
        redis.set(lease_key(config), "1", ex=LEASE_SECONDS)
        assert not worker.look(redis)
        redis.delete(lease_key(config))
    assert queued(redis, QueueName.INDEX) == 0


def test_workers__of_the_settler__enqueue_one_look_in_its_interval(config: IndexerConfig, redis: Redis) -> None:
    workers = [Standby(config, QueueName.SETTLE, lambda: True) for _ in range(2)]
    assert [worker.look(redis) for worker in workers] == [True, False]
    assert queued(redis, QueueName.SETTLE) == 1
    assert queued(redis, QueueName.INDEX) == 0


@pytest.mark.attack
@pytest.mark.parametrize("ends", [None, 10**6])
@pytest.mark.parametrize("queue", [QueueName.INDEX, QueueName.SETTLE])
def test_worker__while_a_lease_is_there_that_nobody_took__does_its_work(
    config: IndexerConfig, redis: Redis, queue: QueueName, ends: int | None
) -> None:
    for key in (lease_key(config), f"lease:settle:{config.chain.chain_id}"):
        redis.set(key, 1, ex=ends)
    worker = Standby(config, queue, lambda: True)
    looks = STANDBY_LOOKS if queue is QueueName.INDEX else 1
    assert [worker.look(redis) for _ in range(looks)] == [False] * (looks - 1) + [True]
    assert queued(redis, queue) == 1
    if queue is QueueName.SETTLE:
        assert 0 < redis.ttl(f"lease:settle:{config.chain.chain_id}") <= SETTLE_SECONDS


def test_worker__of_the_settler__without_work__enqueues_nothing(config: IndexerConfig, redis: Redis) -> None:
    asked = list[bool]()

    def has_work() -> bool:
        asked.append(True)
        return False

    worker = Standby(config, QueueName.SETTLE, has_work)
    assert [worker.look(redis) for _ in range(2)] == [False, False]
    assert queued(redis, QueueName.SETTLE) == 0
    assert len(asked) == 1, "the database is queried once in an interval"


def indexed_block(stack: Stack) -> int:
    with psycopg.connect(stack.postgres.url(DATABASE)) as connection:
        row = connection.execute("SELECT block_number FROM hub_index.head").fetchone()
    return 0 if row is None else int(row[0])


def test_index__with_a_worker_and_no_scheduler__goes_on() -> None:
    services = tuple(each for each in SERVICES if each.name == "indexer-worker")
    with running_stack(StackSettings(services=services)) as stack:
        began, ends = indexed_block(stack), time.monotonic() + GOES_ON_SECONDS
        while indexed_block(stack) <= began + 2:
            stack.check()
            assert time.monotonic() < ends, "no worker started the follower"
            time.sleep(0.05)
