"""One writer per chain, and a stale one writes nothing."""

import pytest
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.types import ChainId
from service_common.db import hub_index as t
from service_common.db.engine import make_engine
from service_common.db.errors import DatabaseUnavailable
from service_indexer.follower import advance
from service_indexer.writer import AnotherWriter, FencedOut, Writer, copy_rows, only_writer
from sqlalchemy import column, func, select, table, update

from tests.servers import DatabaseServer
from tests.world import World


def test_second_writer__while_the_first_holds_the_lock__is_refused(world: World) -> None:
    engine, start = world.engine("service_indexer"), header_at(world.rpc, "latest")
    with pytest.raises(AnotherWriter), only_writer(engine, world.chain_id, world.hub_address, start):
        pass


def test_writer__whose_database_is_away__says_so(world: World) -> None:
    """As everything else that uses it does: the follower that begins then ends, and is no failed job."""
    start = header_at(world.rpc, "latest")
    away = make_engine("postgresql://service_indexer@127.0.0.1:1/bounty", application="away", pool_size=1)
    with pytest.raises(DatabaseUnavailable), only_writer(away, world.chain_id, world.hub_address, start):
        pass
    away.dispose()


def test_writer__of_a_chain_with_a_large_id__is_the_only_one(world: World, database_server: DatabaseServer) -> None:
    start, fresh = header_at(world.rpc, "latest"), database_server.new()
    engine = fresh.engine("service_indexer")
    large = ChainId(2**53 - 1)
    with only_writer(engine, large, world.hub_address, start) as writer:
        with pytest.raises(AnotherWriter), only_writer(engine, large, world.hub_address, start):
            pass
        head = writer.head()
    assert head is not None
    assert head.chain_id == large
    with only_writer(engine, large, world.hub_address, start):  # it was let go at once
        pass
    fresh.close()


def test_stale_writer__with_an_old_fencing_token__writes_nothing(world: World) -> None:
    stale = Writer(world.engine("service_indexer"), world.chain_id, world.hub_address, fence=0)
    world.node.mine(1)
    before = world.writer.head()
    with pytest.raises(FencedOut):
        advance(world.source, stale)
    assert world.writer.head() == before
    assert advance(world.source, world.writer) is True


@pytest.mark.attack
def test_writer__after_a_failover_that_lost_the_fencing_token_of_another__keeps_that_one_out(
    world: World, database_server: DatabaseServer
) -> None:
    """A token that counts is the same one again, so that both would write: a rebuild's copy with a hole in it."""
    start, fresh = header_at(world.rpc, "latest"), database_server.new()
    engine = fresh.engine("service_indexer")
    others = ChainId(31_338), world.hub_address, start
    with only_writer(engine, *others):
        pass
    with engine.connect() as connection:
        replicated = connection.execute(select(t.head.c.fence)).scalar_one()
    with only_writer(engine, *others) as first:
        pass  # its session ends with the primary
    with engine.begin() as connection:
        connection.execute(update(t.head).values(fence=replicated))
    with only_writer(engine, *others) as second, engine.begin() as connection:
        second.check_fence(connection)
        with pytest.raises(FencedOut):
            first.check_fence(connection)
    fresh.close()


def test_writer__whose_session_was_ended__leaves_and_the_next_one_begins(world: World) -> None:
    engine, start = world.engine("service_indexer"), header_at(world.rpc, "latest")
    with engine.connect() as connection:
        ended = select(func.pg_terminate_backend(column("pid"))).select_from(table("pg_locks"))
        assert connection.execute(ended.where(column("locktype") == "advisory")).scalars().all() == [True]
    world.writer_lock.close()
    with only_writer(engine, world.chain_id, world.hub_address, start) as writer:
        assert writer.head() is not None


def test_copy__of_another_hub__is_refused(world: World) -> None:
    from bounty_protocol.types import Address

    other = Address("0x" + "22" * 20)
    world.writer._engine.dispose()
    start = header_at(world.rpc, "latest")
    with (
        pytest.raises((AnotherWriter, ValueError)),
        only_writer(world.engine("service_indexer"), world.chain_id, other, start),
    ):
        pass


TOPICS = ["0x" + "ab" * 32, 'a "quoted" text', "back\\slash", "", "NULL", "{a,b}", "tab\tand\nline"]


def test_rows__with_any_texts_in_an_array__are_read_back_as_they_were(world: World) -> None:
    origin = {"block_number": 1, "block_hash": "0x01", "log_index": 0, "tx_hash": "0x02", "time": 3}
    rows = [{"bounty_id": None, "topics": topics, "data": b"\0\\x", **origin} for topics in (TOPICS, [])]
    with world.engine("service_indexer").begin() as connection:
        copy_rows(connection, t.logs, [row | {"log_index": place} for place, row in enumerate(rows)])
        found = connection.execute(select(t.logs.c.topics, t.logs.c.data).where(t.logs.c.block_hash == "0x01"))
        assert [(row.topics, bytes(row.data)) for row in found] == [(TOPICS, b"\0\\x"), ([], b"\0\\x")]
        connection.rollback()
