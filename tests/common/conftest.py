"""Servers that the tests of the two libraries use."""

from tests.servers import database, database_server, node, redis, valkey_server

__all__ = ["database", "database_server", "node", "redis", "valkey_server"]
