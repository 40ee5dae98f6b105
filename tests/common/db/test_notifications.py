"""Waiting for what another process commits."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from service_common.db.engine import make_engine, writing
from service_common.db.errors import DatabaseUnavailable
from service_common.db.notifications import Channel, Listener, notify
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from tests.servers import Database

LONG = 600.0
"""A test that fails waits for it; none passes by it."""


@pytest.fixture
def engine(database: Database) -> Iterator[Engine]:
    made = make_engine(database.url("service_webhooks"), application="test")
    yield made
    made.dispose()


@contextmanager
def listening(engine: Engine) -> Iterator[tuple[Listener, Connection]]:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        yield Listener(connection, Channel.TO_SEND), connection
        connection.invalidate()


def test_listener__is_woken_by_what_was_committed_and_by_nothing_else(engine: Engine) -> None:
    with listening(engine) as (listener, _):
        with engine.connect() as connection:
            notify(connection, Channel.TO_SEND)
            connection.rollback()
        assert listener.wait(0) is False
        for _ in range(3):
            with writing(engine) as connection:
                notify(connection, Channel.TO_SEND)
        assert listener.wait(LONG) is True
        with writing(engine) as connection:
            notify(connection, Channel.TO_SEND)
        assert listener.wait(LONG) is True, "one that came while nobody waited"


def test_listener__whose_connection_is_ended__reports_it(engine: Engine) -> None:
    with listening(engine) as (listener, connection):
        pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        with engine.connect() as other:
            other.execute(text(f"SELECT pg_terminate_backend({pid})"))
        for _ in range(2):
            with pytest.raises(DatabaseUnavailable):
                listener.wait(LONG)


def test_listener__that_may_not_listen__waits_its_time(engine: Engine) -> None:
    with engine.connect() as connection:
        with pytest.raises(DBAPIError):
            connection.execute(text("SELECT 1 / 0"))  # until it is rolled back the server takes no other statement
        listener, began = Listener(connection, Channel.TO_SEND), time.monotonic()
        assert listener.wait(0.2) is False
        assert time.monotonic() - began >= 0.2, "whoever waits in a loop would take a core"
