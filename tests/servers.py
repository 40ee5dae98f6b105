"""Real servers for tests: one of each kind per session, a fresh database per test.

A fixture of this module is imported by a part's ``conftest.py`` where that part needs it, so that a part without a
database starts none.
"""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import LiteralString, Self

import psycopg
import pytest
from local_stack import anvil, postgres, valkey
from local_stack.postgres import PostgresServer
from local_stack.services import MIGRATOR, ROLES
from redis import Redis
from service_common.db.engine import make_engine
from service_common.db.schema import create_schema
from service_common.jobs import connect
from sqlalchemy import Engine

TEMPLATE = "template_of_tests"
_INDEX_BYTES: LiteralString = (
    "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = 'hub_index' AND c.relkind = 'r'"
)
_SESSIONS: LiteralString = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "


@dataclass(slots=True)
class Database:
    """One database with the schema. ``engine`` connects as a service's own role."""

    server: PostgresServer
    name: str
    passwords: dict[str, str]
    _engines: list[Engine] = field(default_factory=list)

    def url(self, role: str = MIGRATOR) -> str:
        """The URL of a role."""
        return self.server.url(self.name, user=role, password=self.passwords[role])

    def engine(self, role: str = MIGRATOR) -> Engine:
        """An engine of a role, closed with the database."""
        engine = make_engine(self.url(role), application=f"test-{role}", pool_size=5)
        self._engines.append(engine)
        return engine

    def index_bytes(self) -> int:
        """What the index takes, its own indexes included."""
        with psycopg.connect(self.server.url(self.name), autocommit=True) as connection:
            row = connection.execute(_INDEX_BYTES).fetchone()
        return int(row[0]) if row else 0

    def waiting_for_locks(self) -> int:
        """How many transactions wait for what another one holds."""
        return self._count("wait_event_type = 'Lock'")

    def open_transactions(self) -> int:
        """How many transactions are open with no statement that runs."""
        return self._count("state = 'idle in transaction'")

    def _count(self, condition: LiteralString) -> int:
        with psycopg.connect(self.server.url(self.name), autocommit=True) as connection:
            row = connection.execute(_SESSIONS + condition).fetchone()
        return int(row[0]) if row else 0

    def close(self) -> None:
        for engine in self._engines:
            engine.dispose()
        self.server.drop_database(self.name)


@dataclass(frozen=True, slots=True)
class DatabaseServer:
    """A server with every role and a template with the schema."""

    server: PostgresServer
    passwords: dict[str, str]

    @classmethod
    def on(cls, server: PostgresServer) -> Self:
        """Make the roles, and a template with the schema, as in a deployment."""
        passwords = {role: server.create_role(role) for role in (MIGRATOR, *ROLES)}
        server.create_database(TEMPLATE, owner=MIGRATOR)
        create_schema(server.url(TEMPLATE, user=MIGRATOR, password=passwords[MIGRATOR]))
        return cls(server, passwords)

    def new(self) -> Database:
        """A copy of the template."""
        name = f"test_{secrets.token_hex(6)}"
        with psycopg.connect(self.server.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} OWNER {MIGRATOR}")
        return Database(self.server, name, self.passwords)


@pytest.fixture(scope="session")
def database_server() -> Iterator[DatabaseServer]:
    with postgres.start() as server:
        yield DatabaseServer.on(server)


@pytest.fixture
def database(database_server: DatabaseServer) -> Iterator[Database]:
    database = database_server.new()
    yield database
    database.close()


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[valkey.ValkeyServer]:
    with valkey.start() as server:
        yield server


@pytest.fixture
def redis(valkey_server: valkey.ValkeyServer) -> Iterator[Redis]:
    connection = connect(valkey_server.url())
    connection.flushall()
    yield connection
    connection.close()


@pytest.fixture
def node() -> Iterator[anvil.AnvilServer]:
    """A chain of the test's own, a block for each transaction."""
    with anvil.start(mining="automine") as server:
        yield server
