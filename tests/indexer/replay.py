"""The copy against a fresh replay of the chain: every table, row by row."""

from collections.abc import Iterator
from contextlib import contextmanager

from service_common.db import hub_index as t
from service_indexer.writer import Writer
from sqlalchemy import Engine, select

from tests.servers import DatabaseServer
from tests.world import World


def contents(engine: Engine) -> dict[str, list[tuple[object, ...]]]:
    """Every fact of a copy, in a stable order."""
    with engine.connect() as connection:
        return {
            table.name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
            for table in (*t.FACTS, t.open_bounties)
        }


@contextmanager
def fresh_copy(world: World, server: DatabaseServer) -> Iterator[tuple[Writer, Engine]]:
    """An empty copy beside the world's own: its writer, and its engine."""
    fresh = server.new()
    try:
        engine = fresh.engine("service_indexer")
        writer = Writer(engine, world.chain_id, world.hub_address)
        yield writer, engine
    finally:
        fresh.close()


def replayed(world: World, server: DatabaseServer) -> dict[str, list[tuple[object, ...]]]:
    """What a new copy made from the chain as it is now holds."""
    with fresh_copy(world, server) as (writer, engine):
        follower = world.follower(world.chain, writer)
        while follower.step():
            pass
        return contents(engine)
