"""The follower's job, from its start to its end."""

from collections.abc import Callable, Iterator

import pytest
from bounty_protocol.chain.json_rpc import ChainUnavailable
from local_stack.valkey import ValkeyServer
from service_common.db import hub_index as t
from service_common.db.engine import writing
from service_common.jobs.queues import MESSAGE_VERSION
from service_indexer import jobs
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
