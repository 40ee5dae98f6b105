"""Servers that keep their connections and say nothing are given up by the client's own clock, and used again later."""

import signal
from collections.abc import Iterator

import psutil
import psycopg
import pytest
import structlog
from local_stack import postgres, valkey
from local_stack.postgres import PostgresServer
from local_stack.process import Child
from redis.exceptions import TimeoutError as RedisTimeoutError
from service_common.db import engine as module
from service_common.db.engine import check_database, make_engine, reading, require_primary, single, writing
from service_common.db.errors import DatabaseUnavailable
from service_common.jobs import connect, locked
from sqlalchemy import text
from sqlalchemy.exc import InternalError
from structlog.testing import capture_logs


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """One of these tests' own: a stopped server would hold up every other one."""
    with postgres.start() as server:
        yield server


def send(child: Child | None, number: signal.Signals) -> None:
    """To the server and the processes that serve its connections."""
    assert child is not None
    process = psutil.Process(child.pid)
    for each in (process, *process.children(recursive=True)):
        each.send_signal(number)


def test_hanging_database_is_used_again_later(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.3)
    engine = make_engine(server.url(), application="test", pool_size=1)
    check_database(engine)
    send(server.child, signal.SIGSTOP)
    try:
        with pytest.raises(DatabaseUnavailable):
            check_database(engine)
    finally:
        send(server.child, signal.SIGCONT)
    check_database(engine)
    engine.dispose()


def test_read_only_database_is_left_for_another(
    server: PostgresServer,
) -> None:
    engine = make_engine(server.url(), application="test", pool_size=1)
    check_database(engine)  # what a reading transaction leaves on a connection would let it write where nothing may
    with writing(engine) as connection:
        connection.execute(text("CREATE TABLE kept (number int)"))
        former = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
    with server.read_only():
        for begun in (writing, single):
            with pytest.raises(DatabaseUnavailable), begun(engine) as connection:
                connection.execute(text("INSERT INTO kept VALUES (1)"))
        check_database(engine)
        with pytest.raises(DatabaseUnavailable), writing(engine) as connection:
            connection.execute(text("INSERT INTO kept VALUES (1)"))
    with writing(engine) as connection:
        connection.execute(text("INSERT INTO kept VALUES (2)"))
        assert connection.execute(text("SELECT pg_backend_pid()")).scalar_one() != former
    with pytest.raises(InternalError), reading(engine) as connection:  # a mistake of ours, not the server's
        connection.execute(text("INSERT INTO kept VALUES (3)"))
    engine.dispose()


def test_failover__to_a_standby_behind_the_same_name(server: PostgresServer) -> None:
    """As a provider does it: the name leads to a standby for a while, then to the one that was promoted."""
    with psycopg.connect(server.url(), autocommit=True) as administrator:
        administrator.execute("CREATE TABLE copied (number int)")
    standby = server.standby()
    server.wait_for_standby(standby)
    engine = make_engine(standby.url(), application="test", pool_size=2)
    for begun in (writing, single, writing):
        with reading(engine) as connection:  # public reads go on
            assert connection.execute(text("SELECT count(*) FROM copied")).scalar_one() == 0
            reader = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        with pytest.raises(DatabaseUnavailable), begun(engine) as connection:
            connection.execute(text("INSERT INTO copied VALUES (1)"))
        with reading(engine) as connection:
            assert connection.execute(text("SELECT pg_backend_pid()")).scalar_one() != reader  # the pool was emptied
    with pytest.raises(DatabaseUnavailable, match="standby"):
        check_database(engine)
    check_database(engine, may_be_standby=True)
    for wait_seconds in (0.0, 0.5):
        with pytest.raises(DatabaseUnavailable, match="standby"), locked(engine, "a-lock", wait_seconds):
            pass
    with reading(engine) as connection, pytest.raises(DatabaseUnavailable, match="standby"):
        require_primary(connection)
    standby.promote()
    check_database(engine)
    with writing(engine) as connection:
        connection.execute(text("INSERT INTO copied VALUES (2)"))
    engine.dispose()


def test_pool_that_only_reads_leaves_a_standby(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name led to one for a while, and nothing it does is refused there."""
    standby = server.standby("stale")
    engine = make_engine(standby.url(), application="test", pool_size=1)
    with reading(engine) as connection:
        former = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
    standby.promote()
    with reading(engine) as connection:
        assert connection.execute(text("SELECT pg_backend_pid()")).scalar_one() == former
    monkeypatch.setattr(engine.pool, "_recycle", 0)  # as after RENEWED_AFTER_SECONDS
    with reading(engine) as connection:
        assert connection.execute(text("SELECT pg_backend_pid()")).scalar_one() != former
        require_primary(connection)
    engine.dispose()


def test_refused_password_is_logged_without_it(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "log", structlog.get_logger())
    server.create_role("somebody", password="the-former-password")
    engine = make_engine(server.url(user="somebody", password="the-present-password"), application="test")
    with capture_logs() as lines, pytest.raises(DatabaseUnavailable):
        check_database(engine)
    (line,) = lines
    assert (line["event"], line["log_level"]) == ("database unavailable", "warning")
    assert "password authentication failed" in line["reason"]
    assert "-password" not in str(line)


def test_hanging_queue_server_is_given_up() -> None:
    with valkey.start() as server:
        redis = connect(server.url(), answer_seconds=1.0)
        assert redis.ping()
        send(server.child, signal.SIGSTOP)
        try:
            with pytest.raises(RedisTimeoutError):
                redis.ping()
        finally:
            send(server.child, signal.SIGCONT)
        assert redis.ping()
