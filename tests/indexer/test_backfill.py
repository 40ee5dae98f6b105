"""Ranges read ahead: taken where they continue the copy, ignored where they do not, never needed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.types import BlockNumber, Bytes32
from local_stack.valkey import ValkeyServer
from redis import Redis
from rq import SimpleWorker
from rq.serializers import JSONSerializer
from service_common.db import hub_index as t
from service_common.db.hub_reads import read_head
from service_common.jobs.queues import QueueName, connect, message, open_queue
from service_indexer import jobs
from service_indexer.backfill import RANGES_AHEAD, Backfill, enqueue_ahead, ranges_ahead
from service_indexer.follower import advance
from service_indexer.source import Tip
from service_indexer.stretch import BLOCKS_PER_STEP, PROVEN_PER_STEP, Stretch, read_stretch
from service_indexer.writer import Writer, only_writer
from sqlalchemy import select

from tests.indexer.lying import LyingSource
from tests.indexer.replay import contents
from tests.servers import Database, DatabaseServer
from tests.world import World


@contextmanager
def empty_copy(world: World, server: DatabaseServer) -> Iterator[tuple[Writer, Backfill, Database]]:
    fresh = server.new()
    engine = fresh.engine("service_indexer")
    start = header_at(world.rpc, BlockNumber(max(0, world.hub.deploy_block - 1)))
    with only_writer(engine, world.chain_id, world.hub_address, start) as writer:
        yield writer, Backfill(engine, world.chain_id), fresh
    fresh.close()


def history(world: World) -> None:
    """Events here and there over a few ranges, all final."""
    for _ in range(4):
        world.submit(world.create(seconds=100_000), world.solver(1))
        world.node.mine(BLOCKS_PER_STEP)
    world.finalize()


def read(world: World, first: int, last: int) -> Stretch:
    final = header_at(world.rpc, "finalized").number
    return read_stretch(world.source, header_at(world.rpc, BlockNumber(first - 1)), BlockNumber(last), final)


def replayed(world: World, writer: Writer, backfill: Backfill) -> LyingSource:
    """Follow to the tip with what was read ahead; the source, which counts what it was asked."""
    source = LyingSource(world.source)
    while advance(source, writer, backfill):
        pass
    return source


def test_ranges_ahead__are_whole_final_ranges_after_the_followers_own() -> None:
    whole = BLOCKS_PER_STEP
    assert list(ranges_ahead(BlockNumber(0), BlockNumber(whole * 3))) == [whole, whole * 2]
    assert list(ranges_ahead(BlockNumber(whole - 1), BlockNumber(whole * 3))) == [whole * 2]
    assert list(ranges_ahead(BlockNumber(0), BlockNumber(whole * 3 - 1))) == [whole, whole * 2]
    assert list(ranges_ahead(BlockNumber(0), BlockNumber(whole * 3 - 2))) == [whole]
    assert len(list(ranges_ahead(BlockNumber(0), BlockNumber(10**6)))) == RANGES_AHEAD


def test_follower__with_ranges_read_ahead__takes_them_and_equals_the_chain(
    world: World, database_server: DatabaseServer
) -> None:
    history(world)
    with empty_copy(world, database_server) as (writer, backfill, fresh):
        backfill.put(read(world, BLOCKS_PER_STEP, BLOCKS_PER_STEP * 2 - 1))
        backfill.put(read(world, BLOCKS_PER_STEP * 2, BLOCKS_PER_STEP * 3 - 1))
        source = replayed(world, writer, backfill)
        assert contents(fresh.engine("service_indexer")) == contents(world.engine("service_indexer"))
        asked = {block for first, last in source.asked for block in range(first, last + 1)}
        # The follower's first stretch may reach into the first range; of the rest, the ends of its steps were asked.
        again = asked & set(range(BLOCKS_PER_STEP + PROVEN_PER_STEP, BLOCKS_PER_STEP * 3))
        assert len(again) <= 2 * BLOCKS_PER_STEP // PROVEN_PER_STEP + 1
        head = writer.head()
        assert head is not None
        backfill.forget(head.block_number)
        assert backfill.kept() == set()
        with fresh.engine("service_indexer").connect() as connection:
            checked = connection.execute(select(t.head.c.checked_number)).scalar_one()
        assert checked == head.block_number  # what was read ahead was held against receipts, too


def follow_up_to(world: World, writer: Writer, block: BlockNumber) -> None:
    """Follow as if ``block`` were the newest."""
    last = header_at(world.rpc, block)
    source = LyingSource(world.source, change_tip=lambda _: Tip(last, last))
    while advance(source, writer):
        pass


def _other_parent(stretch: Stretch) -> Stretch:
    first = replace(stretch.headers[0], parent_hash=Bytes32("0x" + "11" * 32))
    return Stretch([first, *stretch.headers[1:]], stretch.logs)


def _other_chain(stretch: Stretch) -> Stretch:
    last = replace(stretch.headers[-1], hash=Bytes32("0x" + "22" * 32))
    return Stretch([*stretch.headers[:-1], last], stretch.logs)


def _hole(stretch: Stretch) -> Stretch:
    return Stretch(stretch.headers[:10] + stretch.headers[11:], stretch.logs)


def test_follower__with_a_range_of_another_chain__reads_for_itself(
    world: World, database_server: DatabaseServer
) -> None:
    history(world)
    good = read(world, BLOCKS_PER_STEP, BLOCKS_PER_STEP * 2 - 1)
    assert good.logs
    for change in (_other_parent, _other_chain, _hole):
        with empty_copy(world, database_server) as (writer, backfill, fresh):
            follow_up_to(world, writer, BlockNumber(BLOCKS_PER_STEP - 1))
            backfill.put(change(Stretch(good.headers, [])))  # were it taken, its logs would be missed
            replayed(world, writer, backfill)
            assert contents(fresh.engine("service_indexer")) == contents(world.engine("service_indexer"))


@pytest.fixture
def redis(valkey_server: ValkeyServer) -> Iterator[Redis]:
    connection = connect(valkey_server.url())
    connection.flushall()
    yield connection
    connection.flushall()
    connection.close()


@pytest.fixture
def configured(world: World, valkey_server: ValkeyServer, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The jobs' environment, for a copy of this database."""

    def configure(database: Database) -> None:
        for name, value in {
            "SERVICE_CHAIN_ID": str(world.chain_id),
            "SERVICE_HUB_ADDRESS": world.hub_address,
            "SERVICE_DEPLOY_BLOCK": str(world.hub.deploy_block),
            "SERVICE_BLOCK_TIME_SECONDS": "1",
            "SERVICE_RPC_URLS": world.node.url,
            "SERVICE_DATABASE_URL": database.url("service_indexer"),
            "SERVICE_REDIS_URL": valkey_server.url(),
        }.items():
            monkeypatch.setenv(name, value)
        jobs._setup.cache_clear()

    yield configure
    jobs._setup.cache_clear()


def test_jobs__enqueued_once_each_and_worked_by_another_worker__leave_the_follower_little_to_read(
    world: World, database_server: DatabaseServer, redis: Redis, configured: Any
) -> None:
    history(world)
    final = header_at(world.rpc, "finalized").number
    with empty_copy(world, database_server) as (writer, backfill, fresh):
        configured(fresh)
        head = writer.head()
        assert head is not None
        wanted = list(ranges_ahead(head.block_number, final))
        redis.sadd("rq:workers:index", "the follower's", "one that was killed")
        redis.set("the follower's", "alive")
        assert enqueue_ahead(redis, backfill, world.chain_id, head.block_number, final) == 0, "nobody else would read"
        redis.sadd("rq:workers:index", "another")
        redis.set("another", "alive")
        assert enqueue_ahead(redis, backfill, world.chain_id, head.block_number, final) == len(wanted) >= 3
        assert enqueue_ahead(redis, backfill, world.chain_id, head.block_number, final) == 0
        queue = open_queue(QueueName.INDEX, redis)
        assert SimpleWorker([queue], connection=redis, serializer=JSONSerializer).work(burst=True)
        assert backfill.kept() == set(wanted)
        redis.sadd("rq:workers:index", "the follower's", "another")
        assert enqueue_ahead(redis, backfill, world.chain_id, head.block_number, final) == 0
        source = replayed(world, writer, backfill)
        assert sum(last - first + 1 for first, last in source.asked) < final - BLOCKS_PER_STEP * 2
        assert contents(fresh.engine("service_indexer")) == contents(world.engine("service_indexer"))


def test_job__for_a_range_that_is_passed_or_not_final__reads_nothing(
    world: World, database_server: DatabaseServer, redis: Redis, configured: Any
) -> None:
    history(world)
    with empty_copy(world, database_server) as (writer, backfill, fresh):
        configured(fresh)
        newest = header_at(world.rpc, "latest").number
        first = newest // BLOCKS_PER_STEP * BLOCKS_PER_STEP
        assert jobs.read_ahead(message(chain_id=world.chain_id, first_block=first)) == "not final yet"
        replayed(world, writer, backfill)
        past = jobs.read_ahead(message(chain_id=world.chain_id, first_block=BLOCKS_PER_STEP))
        assert past == "the copy is past it"
        assert backfill.kept() == set()
        with fresh.engine("service_indexer").connect() as connection:
            head = read_head(connection, world.chain_id)
        assert head is not None
        assert head.tip_number == head.block_number
