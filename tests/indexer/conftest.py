"""A world with its index."""

from collections.abc import Iterator

import pytest
from local_stack.anvil import AnvilServer

from tests.servers import Database, database, database_server, node, redis, valkey_server
from tests.world import World, make_world

__all__ = ["database", "database_server", "node", "redis", "valkey_server", "world"]


@pytest.fixture
def world(node: AnvilServer, database: Database) -> Iterator[World]:
    with make_world(node, database) as made:
        yield made
