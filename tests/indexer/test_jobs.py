"""The follower's job, from its start to its end."""

from collections.abc import Callable, Iterator

import pytest
from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.endpoints import Endpoint
from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.types import BlockNumber
from local_stack.valkey import ValkeyServer
from redis import Redis
from service_common.db import hub_index as t
from service_common.db.engine import writing
from service_common.jobs.queues import MESSAGE_VERSION
from service_indexer import jobs
from service_indexer.conduct import read_conduct
from service_indexer.source import RpcSource, Tip
from sqlalchemy import update

from tests.world import World

from .test_replay import variables


@pytest.fixture
def follow(world: World, valkey_server: ValkeyServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    """Runs the job for at most two seconds; the reason that it ended for."""
    for name, value in (variables(world) | {"SERVICE_REDIS_URL": valkey_server.url()}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(jobs, "LEASE_JOB_SECONDS", 2)
    world.writer_lock.close()
    jobs._setup.cache_clear()
    yield lambda: jobs.follow({"version": MESSAGE_VERSION})
    jobs._setup.cache_clear()


def test_follower__whose_endpoints_hang__still_steps_aside(
    world: World, follow: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = world.engine("service_indexer")

    def fail(_: RpcSource) -> Tip:
        with writing(engine) as connection:
            connection.execute(update(t.head).values(fence=t.head.c.fence + 1))
        raise ChainUnavailable("no answer")

    monkeypatch.setattr(RpcSource, "tip", fail)
    assert follow() == "FencedOut"


@pytest.mark.attack
def test_follower__that_was_contradicted__leaves_the_count_to_its_successors(
    world: World, follow: Callable[[], str], redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, tip = list[Endpoint](), RpcSource.tip

    def contradict(source: RpcSource) -> Tip:
        shown = tip(source)
        if not seen:
            seen.append(source._chain.rpc.endpoints.all[0])
            source._chain.rpc.endpoints.contradicted(seen[0])
        return shown

    monkeypatch.setattr(RpcSource, "tip", contradict)
    for _ in range(2):
        assert follow() == "lease ended"
        (reported,) = read_conduct(redis, world.chain_id, [world.node.url])
        assert reported.contradictions == 1


def test_follower__of_a_copy_that_is_begun__needs_no_block_from_before_the_hub(
    world: World, follow: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Endpoints may have stopped showing it long ago."""

    def forget(_: RpcSource, number: BlockNumber) -> Header:
        raise ChainUnavailable(f"block {number} is pruned")

    monkeypatch.setattr(RpcSource, "header", forget)
    assert follow() == "lease ended"
