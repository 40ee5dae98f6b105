"""A world with its index."""

from tests.servers import database, database_server, node, redis, valkey_server
from tests.world import deployment, world

__all__ = ["database", "database_server", "deployment", "node", "redis", "valkey_server", "world"]
