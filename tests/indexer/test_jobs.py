"""The follower's job, from its start to its end."""

from collections.abc import Callable, Iterator

import pytest
from bounty_protocol.chain.blocks import Header, header_at
from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.types import BlockNumber
from local_stack.valkey import ValkeyServer
from redis import Redis
from service_common.db import hub_index as t
from service_common.db.engine import writing
from service_common.jobs import message
from service_common.newest_block import read_newest
from service_indexer import jobs
from service_indexer.conduct import read_conduct
from service_indexer.source import RpcSource, Tip
from service_indexer.writer import only_writer
from sqlalchemy import update

from tests.world import World

from .test_replay import variables


@pytest.fixture
def follow(world: World, valkey_server: ValkeyServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    """Runs the job for at most a second; the reason that it ended for."""
    for name, value in (variables(world) | {"SERVICE_REDIS_URL": valkey_server.url()}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(jobs, "FOLLOW_SECONDS", 1)
    world.writer_lock.close()
    jobs._setup.cache_clear()
    yield lambda: jobs.follow(message())
    jobs._setup()[1].dispose()
    jobs._setup.cache_clear()


def test_follower_reports_what_it_saw(world: World, follow: Callable[[], str], redis: Redis) -> None:
    world.node.mine(3)
    assert follow() == "time is up"
    assert read_newest(redis, world.chain_id) == header_at(world.rpc, "latest").time
    (reported,) = read_conduct(redis, world.chain_id)
    assert (reported.preferred, reported.failures) == (True, 0)


def test_endpoint_failures_add_up_over_jobs(
    world: World, follow: Callable[[], str], redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_RPC_URLS", "http://127.0.0.1:1")
    counts = []
    for _ in range(2):
        assert follow() == "time is up"
        counts += [each.failures for each in read_conduct(redis, world.chain_id)]
    assert 0 < counts[0] < counts[1]


def test_follower_steps_aside_for_another_writer(world: World, follow: Callable[[], str]) -> None:
    with only_writer(world.engine("service_indexer"), world.chain_id, world.hub_address, None):
        assert follow() == "AnotherWriter"
    assert follow() == "time is up"


def test_follower_that_lost_its_fence_ends(
    world: World, follow: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, tip = world.engine("service_indexer"), RpcSource.tip

    def take_over(source: RpcSource) -> Tip:
        with writing(engine) as connection:
            connection.execute(update(t.head).values(fence=t.head.c.fence + 1))
        return tip(source)

    monkeypatch.setattr(RpcSource, "tip", take_over)
    assert follow() == "FencedOut"


def test_follower__of_a_copy_that_is_begun__needs_no_block_from_before_the_hub(
    world: World, follow: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Endpoints may have stopped showing it long ago."""

    def forget(_: RpcSource, number: BlockNumber) -> Header:
        raise ChainUnavailable(f"block {number} is pruned")

    monkeypatch.setattr(RpcSource, "header", forget)
    assert follow() == "time is up"
