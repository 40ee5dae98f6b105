"""Connections.

All timeouts are short, so that a stuck database makes errors and not a stuck service, also a database that keeps its
connections and never answers; only a job that works through whole tables has none. Library errors leave this package as
``DatabaseUnavailable`` without their text, which the log has; no error has the values of a statement or a row.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from bounty_protocol.keepalive import libpq_options
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine.interfaces import DBAPIConnection, ExceptionContext
from sqlalchemy.exc import DBAPIError, DisconnectionError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from service_common.db.errors import DatabaseUnavailable
from service_common.log import get_logger

STATEMENT_TIMEOUT_MS: Final = 10_000
CHECKED_AFTER_SECONDS: Final = 1.0
ANSWER_SECONDS: Final = STATEMENT_TIMEOUT_MS / 1000 + 2
"""How long the client waits by its own clock: a server that hangs cannot keep the statement's limit."""
LIMITED_SECONDS: Final = int(ANSWER_SECONDS)
"""Until a connection ends whose server's machine is gone."""
UNLIMITED_SECONDS: Final = 300
"""Until a connection for statements of any length notices that its server is gone; one that works on its disk reads
nothing meanwhile, either."""
_OF_THE_DRIVER: Final = (psycopg.OperationalError, psycopg.InterfaceError)
"""From a cursor of its own, as for COPY; SQLAlchemy wraps its others."""

log = get_logger(__name__)


class _DiscreetConnection(psycopg.Connection[Any]):
    """A connection whose errors quote no row."""

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        try:
            return super().wait(gen, interval, timeout)
        except psycopg.Error as error:
            if error.diag.message_primary is not None:  # the server's details quote the row
                error.args = (error.diag.message_primary,)
            raise


class _PatientConnection(_DiscreetConnection):
    """One that is given up when its server does not answer in time."""

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        limit = timeout if timeout is not None else ANSWER_SECONDS
        try:
            return super().wait(gen, interval, limit)
        except psycopg.errors._WaitTimeout:  # noqa: SLF001  # how the library reports that nothing came
            self.close()
            raise psycopg.OperationalError("the server did not answer in time") from None


def make_engine(
    url: str,
    *,
    application: str,
    pool_size: int = 10,
    limited: bool = True,
) -> Engine:
    """Make an engine for ``postgresql://`` URLs; check a connection that was not used for ``CHECKED_AFTER_SECONDS``.

    Without ``limited`` a statement may take as long as it needs, on both sides; TCP notices a server that is gone.
    """
    connection_type = _PatientConnection if limited else _DiscreetConnection
    engine = create_engine(
        url.replace("postgresql://", "postgresql+psycopg://", 1),
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_timeout=5,
        hide_parameters=True,
        connect_args={
            "application_name": application,
            "connect_timeout": 3,
            "options": f"-c statement_timeout={STATEMENT_TIMEOUT_MS if limited else 0} -c timezone=UTC",
            **libpq_options(LIMITED_SECONDS if limited else UNLIMITED_SECONDS),
        },
    )

    @event.listens_for(engine, "do_connect")
    def connect(_dialect: object, _record: object, arguments: Any, options: Any) -> psycopg.Connection[Any]:
        return connection_type.connect(*arguments, **options)

    _check_idle_connections(engine)
    _leave_read_only_servers(engine)
    return engine


def _check_idle_connections(engine: Engine) -> None:
    """Check only idle connections: under load the check would be half of all statements. A connection that broke
    meanwhile causes one 503; then the pool replaces all that are as old.
    """

    @event.listens_for(engine, "checkin")
    def returned(connection: psycopg.Connection[Any] | None, record: ConnectionPoolEntry) -> None:
        record.info["returned_at"] = time.monotonic()
        if connection is not None and not connection.closed:
            # After a reading transaction SQLAlchemy leaves False, with which each later one begins READ WRITE: also
            # where the server's own default is that nothing may be written.
            connection.read_only = None

    @event.listens_for(engine, "checkout")
    def check(connection: DBAPIConnection, record: ConnectionPoolEntry, _proxy: object) -> None:
        if time.monotonic() - record.info.get("returned_at", float("inf")) <= CHECKED_AFTER_SECONDS:
            return
        try:
            engine.dialect.do_ping(connection)
        except psycopg.Error as error:
            raise DisconnectionError from error


def _leave_read_only_servers(engine: Engine) -> None:
    """Treat a server that accepts no writes, as after a failover or with a full disk, as unavailable: drop its
    connections, so that new ones reach its successor.
    """

    @event.listens_for(engine, "handle_error")
    def give_up(context: ExceptionContext) -> None:
        ours = context.connection is not None and context.connection.get_execution_options().get("postgresql_readonly")
        error = context.original_exception
        is_read_only = isinstance(error, psycopg.errors.ReadOnlySqlTransaction) and not ours
        if is_read_only or (isinstance(error, psycopg.errors.FeatureNotSupported) and "recovery" in str(error)):
            context.is_disconnect = True


@contextmanager
def engine_of_job(url: str, *, application: str, limited: bool = True) -> Iterator[Engine]:
    """Open an engine for the length of one job. A job that is not ``limited`` works through whole tables while a person
    waits.
    """
    engine = make_engine(url, application=application, pool_size=2, limited=limited)
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Open a connection in one repeatable-read, read-only transaction: every query sees the same moment."""
    with translated(), engine.connect() as connection:
        yield connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Open a connection in one transaction, committed at the end, rolled back on any error."""
    with translated(), engine.begin() as connection:
        yield connection


@contextmanager
def single(engine: Engine) -> Iterator[Connection]:
    """Open a connection for one statement that is its own transaction: half the round trips to the database."""
    with translated(), engine.connect() as connection:
        yield connection.execution_options(isolation_level="AUTOCOMMIT")


@contextmanager
def translated() -> Iterator[None]:
    """Raise ``DatabaseUnavailable`` for anything that fails inside because the database does not answer."""
    try:
        yield
    except (OperationalError, InterfaceError, PoolTimeoutError, *_OF_THE_DRIVER) as error:
        _log(error)
        raise DatabaseUnavailable from error
    except DBAPIError as error:
        if error.connection_invalidated:
            _log(error)
            raise DatabaseUnavailable("the database connection was lost") from error
        raise


def _log(error: Exception) -> None:
    """Log why, with the driver's own message: SQLAlchemy's has the statement."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    reason = "no connection became free in time" if isinstance(cause, PoolTimeoutError) else cause
    log.warning("database unavailable", reason=str(reason).strip()[:500])


def check_database(engine: Engine) -> None:
    """Return if the database answers and is not a standby, which accepts no writes; for readiness."""
    with reading(engine) as connection:
        is_standby = connection.execute(text("SELECT pg_is_in_recovery()")).scalar_one()
    if is_standby:
        engine.dispose()  # new connections find the server that its name leads to by now
        raise DatabaseUnavailable("the database is a standby")
