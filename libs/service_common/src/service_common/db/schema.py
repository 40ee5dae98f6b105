"""The schema of a deployment: create it in an empty database, and wait until it is there.

``schema.sql`` creates it and ``grants.sql`` says what each service's role may do. The row of ``schema_version`` is a
digest of both files, so a database of another schema is refused and never changed. No service starts without its own
schema, in whatever order a cluster starts things: its pod first runs ``await-schema``, whose exit code is 1, with the
reason, if it waits too long.
"""

import sys
from collections.abc import Callable
from hashlib import sha256
from importlib.resources import files
from typing import Final

from bounty_protocol.clock import Clock, SystemClock
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from service_common import log
from service_common.common_settings import database_url_of
from service_common.config import SettingWrong
from service_common.db.engine import check_database, engine_of_job, reading
from service_common.db.tables import SCHEMA_SQL
from service_common.entry_point import Environment, Process

_LOCK: Final = 0x5EC0_DB00
_CLOCK: Final = SystemClock()
WAIT_SECONDS: Final = 300.0
_SQL: Final = (SCHEMA_SQL, files(__package__).joinpath("grants.sql").read_text(encoding="utf-8"))
DIGEST: Final = sha256("".join(_SQL).encode()).hexdigest()
"""Names this release's schema."""
_FOREIGN: Final = """
    SELECT class.oid::regclass::text FROM pg_class AS class JOIN pg_namespace AS space ON space.oid = relnamespace
    WHERE relkind IN ('r', 'p', 'f') AND nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%'
    AND NOT EXISTS (
        SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = class.oid AND deptype = 'e'
    )
    ORDER BY 1 LIMIT 1
"""
"""A table that no extension of the provider brought."""

_log = log.get_logger(__name__)


class SchemaMissing(Exception):
    """The database does not have this release's schema."""


def create_schema(url: str) -> None:
    """Create the schema in an empty database, in one transaction; do nothing if this schema exists.

    Raises ``SchemaMissing`` if the database has another one, or another application's tables.
    """
    with engine_of_job(url, application="migrate") as engine, engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        found = _digest_in(connection)
        if found is None:
            if (foreign := connection.scalar(text(_FOREIGN))) is not None:
                raise SchemaMissing(
                    f"the database is not empty: {foreign} is another application's; give it an empty one"
                )
            for sql in _SQL:
                connection.exec_driver_sql(sql)
            connection.execute(text("INSERT INTO schema_version VALUES (:digest)"), {"digest": DIGEST})
        elif found != DIGEST:
            raise SchemaMissing("the database has the schema of another release, which this one cannot change")


def await_database(read_url: Callable[[], str], *, clock: Clock = _CLOCK) -> str:
    """Wait until a login succeeds, for as long as the platform lets this process run; return the URL that worked.

    ``read_url`` is called at each attempt, so a password that is corrected in a mounted Secret is used.
    """
    url = ""

    def look() -> str | None:
        nonlocal url
        url = read_url()
        try:
            with engine_of_job(url, application="migrate") as engine, engine.connect():
                return None
        except OperationalError as error:
            return str(error.orig).strip()[:300]

    _wait(look, clock, float("inf"))
    return url


def await_schema(url: str, *, clock: Clock, seconds: float) -> None:
    """Wait until the database has this release's schema; raise ``SchemaMissing`` after ``seconds`` without it."""
    with engine_of_job(url, application="await-schema") as engine:

        def look() -> str | None:
            try:
                with engine.connect() as connection:
                    found = _digest_in(connection)
            except (OperationalError, ProgrammingError) as error:
                return str(error.orig).strip()[:300]
            if found == DIGEST:
                return None
            return f"the database has {'no schema' if found is None else 'the schema of another release'}"

        _wait(look, clock, seconds)


def check_schema(engine: Engine, role: str, *, may_be_standby: bool = False) -> None:
    """Return if the database answers this role, and has this release's schema; for readiness.

    ``SettingWrong`` if the role or the schema is another one: statement after statement would be refused.
    """
    check_database(engine, may_be_standby=may_be_standby)
    with reading(engine) as connection:
        own = connection.execute(text("SELECT current_user")).scalar_one()
        found = _digest_in(connection) if own == role else None
    if own != role:
        raise SettingWrong(f"SERVICE_DATABASE_URL logs in as {own}, but this process works as {role}")
    if found != DIGEST:
        raise SettingWrong("SERVICE_DATABASE_URL names a database without this release's schema")


def _wait(look: Callable[[], str | None], clock: Clock, seconds: float) -> None:
    """Poll once a second until there is no reason to wait; log each reason once."""
    ends, reported = clock.monotonic() + seconds, ""
    while (reason := look()) is not None:
        if reason != reported:
            _log.warning("waiting for the database", reason=reason)
            reported = reason
        if clock.monotonic() >= ends:
            raise SchemaMissing(f"{reason}: reach the database, then run the migration")
        clock.sleep(1.0)


def _digest_in(connection: Connection) -> str | None:
    if connection.scalar(text("SELECT to_regclass('schema_version')")) is None:
        return None
    digest: str | None = connection.scalar(text("SELECT digest FROM schema_version"))
    return digest


def _await(environment: Environment) -> None:
    url = database_url_of(environment)
    log.configure("await-schema")
    try:
        await_schema(url, clock=SystemClock(), seconds=WAIT_SECONDS)
    except SchemaMissing as error:
        sys.exit(str(error))


AWAIT_SCHEMA: Final = Process("wait until the database has this release's schema", _await)
