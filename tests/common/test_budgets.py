"""Budgets: counted in this process or by all together, bounded in place, and never lost to a silent Redis."""

from collections.abc import Iterator

import pytest
from bounty_protocol.clock import SystemClock
from local_stack import valkey
from local_stack.runtime import running
from redis import ConnectionPool, Redis
from redis.connection import Connection
from redis.exceptions import ConnectionError as RedisConnectionError
from service_common import budgets as module
from service_common.budgets import Budget, Budgets

from tests.clocks import StandingClock
from tests.waiting import wait_until

OWN, SHARED = Budget("own", 3, 60), Budget("shared", 3, 60, shared=True)


@pytest.fixture(scope="module")
def redis() -> Iterator[Redis]:
    with running() as runtime, valkey.start(runtime) as server:
        yield Redis.from_url(server.url())


def test_budget_is_whole_after_its_window() -> None:
    clock = StandingClock()
    counts = Budgets(clock)
    assert [counts.take(OWN, "one").granted for _ in range(4)] == [True, True, True, False]
    assert counts.take(OWN, "two").left == 2
    refused = counts.take(OWN, "one")
    assert (refused.left, refused.granted) == (0, False)
    assert 59 <= refused.seconds <= 60
    clock.at += 60
    assert counts.take(OWN, "one").granted


def test_budget__that_is_looked_at__loses_nothing() -> None:
    counts = Budgets(StandingClock())
    assert [counts.take(OWN, "one", 0).left for _ in range(5)] == [3] * 5
    assert counts.take(OWN, "one", cost=3).granted
    assert not counts.take(OWN, "one", 0).granted


def test_counts_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_COUNTS", 100)
    counts = Budgets(StandingClock())
    for number in range(1_000):
        counts.take(OWN, f"holder {number}")
    assert len(counts._own._kept) == 100
    assert counts.take(OWN, "holder 999", 0).left == 2


def test_shared_budget_is_one_for_all_processes(redis: Redis) -> None:
    redis.flushall()
    first, second = Budgets(SystemClock(), redis), Budgets(SystemClock(), redis)
    assert [each.take(SHARED, "one").granted for each in (first, second, first, second)] == [True, True, True, False]
    assert not second.take(SHARED, "one", cost=2).granted
    assert second.take(OWN, "one").left == 2  # not shared
    assert 0 < second.take(SHARED, "one", 0).seconds <= 60


def test_shared_budget_is_granted_again(redis: Redis) -> None:
    counts, short = Budgets(SystemClock(), redis), Budget("short", 1, 1, shared=True)
    assert counts.take(short, "one").granted
    wait_until(lambda: not counts.take(short, "one").granted)
    wait_until(lambda: counts.take(short, "one").granted)


def test_shared_budget_without_redis_is_counted_here() -> None:
    clock, asked = StandingClock(), list[float]()

    class Away(ConnectionPool):
        def get_connection(self, command_name: object = None, *keys: object, **options: object) -> Connection:
            asked.append(clock.at)
            raise RedisConnectionError

    counts = Budgets(clock, Redis(connection_pool=Away()))
    assert [counts.take(SHARED, "one").granted for _ in range(4)] == [True, True, True, False]
    assert asked == [100.0]
    clock.at += module.AWAY_SECONDS
    counts.take(SHARED, "one")
    assert asked == [100.0, 105.0]
