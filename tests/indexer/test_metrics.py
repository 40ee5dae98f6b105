"""What an operator sees of the index: lag, reorgs, and how each endpoint behaves."""

import time
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import LiteralString

import psycopg
import pytest
from bounty_protocol.chain.endpoints import Endpoints
from local_stack import postgres
from local_stack.valkey import ValkeyServer
from prometheus_client import CollectorRegistry
from redis import Redis
from rq import SimpleWorker
from rq.serializers import JSONSerializer
from service_common.db.engine import make_engine, reading
from service_common.jobs import QueueCollector, QueueName, connect, open_queue
from service_common.newest_block import newest_key
from service_indexer.conduct import conduct_key, conduct_of, note_contradictions, take_over
from service_indexer.metrics import IndexCollector, archived_seconds

from tests.waiting import wait_until
from tests.world import ChainClock, World


@pytest.fixture
def redis(valkey_server: ValkeyServer) -> Iterator[Redis]:
    connection = connect(valkey_server.url())
    yield connection
    connection.flushall()
    connection.close()


def scraped(world: World, redis: Redis, rpc_urls: Sequence[str] = (), *, proofs: bool = True) -> CollectorRegistry:
    registry = CollectorRegistry()
    engine, clock = world.engine("service_indexer"), ChainClock(world.rpc)
    registry.register(IndexCollector(engine, redis, world.chain_id, clock, rpc_urls, proofs=proofs))
    return registry


def test_metrics__after_reorgs__count_them_and_tell_the_deepest(world: World, redis: Redis) -> None:
    for depth in (1, 2, 1):
        world.node.mine(3)
        world.index()
        world.rpc.call("anvil_reorg", depth, [])
        world.index()
    registry = scraped(world, redis)
    assert registry.get_sample_value("service_index_reorgs_total") == 3
    assert registry.get_sample_value("service_index_deepest_reorg") == 2
    assert registry.get_sample_value("service_index_lag_blocks") == 0
    assert registry.get_sample_value("service_index_halted") == 0
    assert registry.get_sample_value("service_index_unproven_blocks") == 0
    without = scraped(world, redis, proofs=False)
    assert without.get_sample_value("service_index_unproven_blocks") is None, "an alert would fire for ever"


ONE, TWO = "https://one.example/secret-key", "https://two.example/secret-key"


def test_metrics__of_endpoints__name_them_by_place_and_never_by_address(world: World, redis: Redis) -> None:
    endpoints = Endpoints([ONE, TWO])
    endpoints.contradicted(endpoints.all[0])
    endpoints.all[0].lag = 9
    endpoints.succeeded(endpoints.all[1], prefer=True)
    kept = conduct_of(endpoints)
    assert "secret-key" not in kept
    redis.set(conduct_key(world.chain_id), kept)
    for _ in range(2):  # followers that ended
        note_contradictions(redis, world.chain_id, endpoints)
    registry = scraped(world, redis, [ONE, TWO])

    def figure(name: str, place: str) -> float | None:
        return registry.get_sample_value(f"service_rpc_endpoint_{name}", {"endpoint": place})

    assert (figure("preferred", "1"), figure("preferred", "2")) == (0, 1)
    assert (figure("failures", "1"), figure("failures", "2")) == (1, 0)
    assert (figure("lag_blocks", "1"), figure("contradictions", "1")) == (9, 3)


@pytest.mark.attack
@pytest.mark.parametrize(
    "kept", ["x", "1", "[[1]]", '[["1",true,0,0,0]]', "[[0,true,7,0,0]]", "[[1,true,-1,0,0]]", "[" * 10_000, "\xff"]
)
def test_report__that_no_follower_wrote__keeps_none_from_its_start_and_no_figure(
    world: World, redis: Redis, kept: str
) -> None:
    redis.set(conduct_key(world.chain_id), kept.encode("latin-1"))
    redis.set(newest_key(world.chain_id), kept.encode("latin-1"))
    redis.hset(f"contradictions:by-endpoint:{world.chain_id}", sha256(ONE.encode()).hexdigest()[:16], "many")
    endpoints = Endpoints([ONE, TWO])
    take_over(redis, world.chain_id, endpoints)
    assert [each.failures for each in endpoints.all] == [0, 0]
    assert scraped(world, redis, [ONE, TWO]).get_sample_value("service_index_block") is not None


def test_failures__in_a_row__go_on_in_the_follower_that_comes_next(world: World, redis: Redis) -> None:
    before, after = Endpoints([ONE, TWO]), Endpoints([TWO])
    for _ in range(7):
        before.failed(before.all[0])
    redis.set(conduct_key(world.chain_id), conduct_of(before))
    take_over(redis, world.chain_id, after)  # with one endpoint fewer
    after.failed(after.all[0])
    assert [each.failures for each in after.all] == [8]
    after.succeeded(after.all[0], prefer=True)
    assert [each.failures for each in after.all] == [0]
    redis.delete(conduct_key(world.chain_id))
    take_over(redis, world.chain_id, after)
    assert [each.failures for each in after.all] == [0]


def test_follower__that_comes_next__begins_with_the_first_endpoint_that_answered(world: World, redis: Redis) -> None:
    before = Endpoints([ONE, TWO])
    first, second = before.all
    for failing, preferred in (((), 1), ((first,), 2), ((second,), 1), ((first, second), 1)):
        for each in before.all:
            before.succeeded(each, prefer=each not in failing)
        for each in failing:
            before.failed(each)
        redis.set(conduct_key(world.chain_id), conduct_of(before))
        after = Endpoints([ONE, TWO])
        take_over(redis, world.chain_id, after)
        assert after.preferred.place == preferred


def test_contradictions__of_an_endpoint_that_was_taken_out__are_not_those_of_the_one_in_its_place(
    world: World, redis: Redis
) -> None:
    both, without = Endpoints([ONE, TWO]), Endpoints([TWO])
    both.contradicted(both.all[0])
    note_contradictions(redis, world.chain_id, both)
    redis.set(conduct_key(world.chain_id), conduct_of(without))
    labels = {"endpoint": "1"}
    assert scraped(world, redis, [TWO]).get_sample_value("service_rpc_endpoint_contradictions", labels) == 0
    redis.set(conduct_key(world.chain_id), conduct_of(Endpoints([ONE, TWO])))
    assert scraped(world, redis, [ONE, TWO]).get_sample_value("service_rpc_endpoint_contradictions", labels) == 1
    kept = [key for key in redis.scan_iter() if b"secret-key" in key]
    kept += [field for field in redis.hgetall(f"contradictions:by-endpoint:{world.chain_id}") if b"secret-key" in field]
    assert kept == []


def test_metrics__of_the_chain__tell_how_old_its_newest_block_is(world: World, redis: Redis) -> None:
    redis.set(newest_key(world.chain_id), ChainClock(world.rpc).now() - 90)
    assert scraped(world, redis).get_sample_value("service_chain_head_age_seconds") == 90


def test_metrics__without_a_follower__tell_no_endpoint_and_no_age_of_the_chain(world: World, redis: Redis) -> None:
    registry = scraped(world, redis)
    assert registry.get_sample_value("service_chain_head_age_seconds") is None
    assert registry.get_sample_value("service_rpc_endpoint_preferred", {"endpoint": "1"}) is None
    assert registry.get_sample_value("service_index_block") is not None


def test_metrics__of_bounties__tell_open_final_and_overdue(world: World, redis: Redis) -> None:
    def states() -> list[float | None]:
        registry = scraped(world, redis)
        return [registry.get_sample_value("service_bounties", {"state": each}) for each in ("open", "final", "overdue")]

    assert states() == [0, 0, 0]
    bounty_id = world.create(seconds=100)
    world.finalize()
    assert states() == [1, 0, 0]
    world.advance_to(world.time() + 100)
    world.finalize()
    assert states() == [1, 0, 1]
    world.contract.transact(world.solver(1), "settle", bounty_id)
    world.finalize()
    assert states() == [0, 1, 0]


def test_metrics__of_a_queue__count_what_waits_and_failed_lately(redis: Redis) -> None:
    queue = open_queue(QueueName.SETTLE, redis)
    for _ in range(3):
        queue.enqueue("builtins.int", "not a number", failure_ttl=60)
    assert SimpleWorker([queue], connection=redis, serializer=JSONSerializer).work(burst=True, max_jobs=1)
    registry = CollectorRegistry()
    registry.register(QueueCollector(QueueName.SETTLE, redis))

    def count(state: str) -> float | None:
        return registry.get_sample_value("service_jobs", {"queue": "settle", "state": state})

    assert (count("waiting"), count("started"), count("failed")) == (2, 0, 1)
    failed = queue.failed_job_registry
    redis.zadd(failed.key, dict.fromkeys(failed.get_job_ids(), time.time() - 1))
    assert count("failed") == 0, "a minute later"


def test_metrics__of_a_log_that_nobody_archives_in_time__show_none(world: World, redis: Redis) -> None:
    assert scraped(world, redis).get_sample_value("service_wal_archived_seconds") is None


def test_archived__of_a_log_whose_archive_refuses__grows_until_it_takes_it() -> None:
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
