"""What an operator sees of the index: lag, reorgs, and how each endpoint behaves."""

import time
from collections.abc import Iterator, Sequence
from typing import LiteralString

import psycopg
import pytest
from bounty_protocol.chain.endpoints import Endpoints
from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.types import BountyId
from local_stack import postgres
from local_stack.valkey import ValkeyServer
from prometheus_client import CollectorRegistry, generate_latest
from redis import Redis
from rq import SimpleWorker
from rq.serializers import JSONSerializer
from service_common.db.engine import make_engine, reading
from service_common.jobs import QueueName, connect, open_queue, queue_figures
from service_common.timeouts import Figures
from service_indexer.chain import RpcChain
from service_indexer.metrics import archived_seconds, endpoint_figures, index_figures

from tests.waiting import wait_until
from tests.world import ChainClock, World


@pytest.fixture
def redis(valkey_server: ValkeyServer) -> Iterator[Redis]:
    connection = connect(valkey_server.url())
    yield connection
    connection.flushall()
    connection.close()


def scraped(world: World, urls: Sequence[str] = ("http://127.0.0.1:9",)) -> CollectorRegistry:
    registry = CollectorRegistry()
    engine, clock = world.engine("service_indexer"), ChainClock(world.rpc)
    registry.register(Figures(lambda: index_figures(engine, world.chain_id, clock)))
    registry.register(Figures(lambda: endpoint_figures(Endpoints(urls), list)))
    return registry


def test_metrics_after_reorgs_count_them(world: World) -> None:
    world.fund()
    for _ in range(2):
        world.solver(1).forget_nonce()
        world.submit(BountyId(1), world.solver(1))
        world.index()
        world.rpc.call("anvil_reorg", 1, [])
        world.index()
    registry = scraped(world)
    assert registry.get_sample_value("service_index_reorgs_total") == 2
    assert registry.get_sample_value("service_index_deepest_reorg") == 1
    assert registry.get_sample_value("service_index_lag_blocks") == 0
    assert registry.get_sample_value("service_index_halted") == 0


ONE, TWO = "https://one.example/secret-key", "https://two.example/secret-key"


def test_metrics_of_endpoints_name_them_by_place(world: World) -> None:
    registry, endpoints = CollectorRegistry(), Endpoints([ONE, TWO])
    registry.register(Figures(lambda: endpoint_figures(endpoints, list)))
    endpoints.contradicted(endpoints.all[0])
    endpoints.succeeded(endpoints.all[1], prefer=True)

    def figure(name: str, place: str) -> float | None:
        return registry.get_sample_value(f"service_rpc_endpoint_{name}", {"endpoint": place})

    assert (figure("preferred", "1"), figure("preferred", "2")) == (0, 1)
    assert (figure("failures", "1"), figure("failures", "2")) == (1, 0)
    assert (figure("contradictions", "1"), figure("contradictions", "2")) == (1, 0)
    assert b"secret-key" not in generate_latest(registry)


@pytest.mark.parametrize(("quorum", "failures"), [(1, 1), (2, 0)])
def test_look_counts_an_endpoint_that_is_lost(world: World, quorum: int, failures: int) -> None:
    rpc = Rpc([world.node.url, "http://127.0.0.1:1"])
    RpcChain(rpc, world.hub_address, quorum, None).look_at_each()
    assert [each.failures for each in rpc.endpoints.all] == [0, failures]


def test_bounties_are_open_final_or_overdue(world: World) -> None:
    def states() -> list[float | None]:
        registry = scraped(world)
        return [registry.get_sample_value("service_bounties", {"state": each}) for each in ("open", "final", "overdue")]

    assert states() == [0, 0, 0]
    bounty_id = world.fund(seconds=100)
    world.finalize()
    assert states() == [1, 0, 0]
    world.advance_to(world.time() + 100)
    world.finalize()
    assert states() == [1, 0, 1]
    world.contract.transact(world.solver(1), "settle", bounty_id)
    world.finalize()
    assert states() == [0, 1, 0]


def test_queue_counts_what_waits_and_failed(redis: Redis) -> None:
    queue = open_queue(QueueName.SETTLE, redis)
    for _ in range(3):
        queue.enqueue("builtins.int", "not a number", failure_ttl=60)
    assert SimpleWorker([queue], connection=redis, serializer=JSONSerializer).work(burst=True, max_jobs=1)
    registry = CollectorRegistry()
    registry.register(Figures(lambda: queue_figures(QueueName.SETTLE, redis)))

    def count(state: str) -> float | None:
        return registry.get_sample_value("service_jobs", {"queue": "settle", "state": state})

    assert (count("waiting"), count("started"), count("failed")) == (2, 0, 1)
    failed = queue.failed_job_registry
    redis.zadd(failed.key, dict.fromkeys(failed.get_job_ids(), time.time() - 1))
    assert count("failed") == 0, "a minute later"


def test_log_that_nobody_archives_in_time_shows_none(world: World) -> None:
    assert scraped(world).get_sample_value("service_wal_archived_seconds") is None


def test_refused_archive_grows_until_it_is_taken() -> None:
    with postgres.start() as server:
        _set(server, "ALTER SYSTEM SET archive_mode = on")
        _set(server, "ALTER SYSTEM SET archive_command = 'false'")
        server.stop()
        server.restart()
        engine = make_engine(server.url(), application="archived", pool_size=1)

        def archived() -> float | None:
            with reading(engine) as connection:
                return archived_seconds(connection)

        assert archived() is None  # only what fills a file
        _set(server, "ALTER SYSTEM SET archive_timeout = 1")
        _set(server, "SELECT pg_reload_conf()")
        _set(server, "CREATE TABLE written ()")
        wait_until(lambda: (archived() or 0) > 3)
        _set(server, "ALTER SYSTEM SET archive_command = 'true'")
        _set(server, "SELECT pg_reload_conf()")
        _set(server, "SELECT pg_switch_wal()")
        wait_until(lambda: (archived() or 3) < 3)
        engine.dispose()


def _set(server: postgres.PostgresServer, statement: LiteralString) -> None:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(statement)
