"""Servers that the reviewer's tests use."""

from tests.servers import database, database_server, redis, valkey_server

__all__ = ["database", "database_server", "redis", "valkey_server"]
