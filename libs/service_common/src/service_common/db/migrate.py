"""Bringing a database to the newest schema.

All services share one history: each ``migrations/versions/NUMBER_name.sql`` is a revision, on top of the one with the
number before. It is run by the migrator's role, is safe to start twice at once (an advisory lock), and has nothing to
do when the schema is current. A migration is backward compatible for one release, and online: each is a transaction of
its own, takes as long as it needs, and gives up a table that it cannot lock at once, so that nobody queues behind it;
then it tries again.
"""

from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from types import ModuleType
from typing import Any, Final

from alembic.runtime.migration import MigrationContext, RevisionStep
from alembic.script import Script
from alembic.script.revision import RevisionMap
from bounty_protocol.clock import Clock, SystemClock
from psycopg.errors import LockNotAvailable
from sqlalchemy import Connection, NullPool, create_engine, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from service_common.db.engine import engine_of_job
from service_common.log import get_logger

LOCK_TIMEOUT_MS: Final = 1_000
"""A query that needs a table after a waiting migration waits behind it: this bounds how long."""
PATIENCE_SECONDS: Final = 300.0
"""How long it tries: a dump or an operator's query may hold a table for minutes."""
REPORT_SECONDS: Final = 60.0
"""How often it says again why it waits."""
_PAUSE_SECONDS: Final = 1.0
_LOCK: Final = 0x5EC0_DB00
_VERSION_TABLE: Final = "schema_version"
_CLOCK: Final = SystemClock()

log = get_logger(__name__)


class SchemaBehind(Exception):
    """The schema is older than this release."""


def migrate(url: str, *, clock: Clock = _CLOCK, seconds: float = PATIENCE_SECONDS, revision: str = "head") -> str:
    """Apply what is missing up to ``revision``; the revision the schema is at afterwards. A newer one stays.

    Raises SQLAlchemy's ``OperationalError`` when there is no connection, or when a table, or another migration's end,
    was not to be had in ``seconds``.
    """
    ends = clock.monotonic() + seconds
    while True:
        try:
            return _apply(url, revision)
        except OperationalError as error:
            if not isinstance(error.orig, LockNotAvailable) or clock.monotonic() > ends:
                raise
            log.warning("a migration could not lock what another session holds; it tries again")
            clock.sleep(_PAUSE_SECONDS)


def await_database(read_url: Callable[[], str], *, clock: Clock = _CLOCK) -> str:
    """Wait until somebody can log in, for as long as the platform lets this process live; the URL that worked.

    ``read_url`` is asked at each attempt: a password that is put right in a mounted Secret is seen here. Why it waits
    is logged when the reason changes, and once a minute.
    """
    reported, reported_at = "", float("-inf")
    while True:
        url = read_url()
        try:
            with engine_of_job(url, application="migrate") as engine, engine.connect():
                return url
        except OperationalError as error:
            reason = str(error.orig).strip()[:300]
        if reason != reported or clock.monotonic() - reported_at >= REPORT_SECONDS:
            log.warning("waiting for the database, for as long as it takes", reason=reason)
            reported, reported_at = reason, clock.monotonic()
        clock.sleep(_PAUSE_SECONDS)


def _apply(url: str, revision: str) -> str:
    """One attempt. Its connection ends with it, and so does the lock against another migration."""
    engine = create_engine(
        url.replace("postgresql://", "postgresql+psycopg://", 1),
        poolclass=NullPool,
        hide_parameters=True,
        connect_args={
            "application_name": "migrate",
            "connect_timeout": 3,
            "options": f"-c lock_timeout={LOCK_TIMEOUT_MS} -c timezone=UTC",
        },
    )
    with engine.connect() as connection:
        connection.execute(text("SELECT pg_advisory_lock(:lock)"), {"lock": _LOCK})
        connection.commit()
        found = current_revision(connection)
        connection.commit()
        if found is not None and found not in _known():
            log.warning("the schema is of a newer release and stays as it is", revision=found)
            return found
        _upgrade(connection, revision)
        connection.commit()
        return current_revision(connection) or ""


def _upgrade(connection: Connection, target: str) -> None:
    """Run what is missing up to a revision. What one locks is free again before the next starts."""

    def missing(current: Any, _: MigrationContext) -> list[RevisionStep]:
        above = _history().iterate_revisions(target, current, implicit_base=True)
        return [RevisionStep(_history(), each, True) for each in reversed([*above])]  # type: ignore[arg-type]

    context = MigrationContext.configure(
        connection, opts={"version_table": _VERSION_TABLE, "transaction_per_migration": True, "fn": missing}
    )
    with context.begin_transaction():
        context.run_migrations(connection=connection)


def await_schema(url: str, *, clock: Clock, seconds: float) -> str:
    """Wait until the schema is at this release's revision or a newer one; the revision it is at.

    Raises ``SchemaBehind`` when it is not within ``seconds``. A revision this release does not know is a newer one:
    migrations are backward compatible for one release.
    """
    ends, found = clock.monotonic() + seconds, None
    with engine_of_job(url, application="await-schema") as engine:
        known, reported = _known(), ""
        while clock.monotonic() < ends:
            try:
                with engine.connect() as connection:
                    found = current_revision(connection)
            except (OperationalError, ProgrammingError) as error:
                reason = str(error.orig).strip()[:300]
            else:
                if found is not None and (found == known[0] or found not in known):
                    return found
                reason = f"the database is at schema {found or 'none'}; this release needs {known[0]}"
            if reason != reported:
                log.warning("waiting for the schema", reason=reason)
                reported = reason
            clock.sleep(1.0)
    raise SchemaBehind(f"{reported or 'no time was left to look'}: reach the database, then run the migration")


@cache
def _history() -> RevisionMap:
    """The SQL files as Alembic's revisions, each with the number before its own as the one it builds on."""
    return RevisionMap(_revisions)


def _revisions() -> Iterator[Script]:
    folder = files(__package__) / "migrations" / "versions"
    former: str | None = None
    for file in sorted((each for each in folder.iterdir() if each.name.endswith(".sql")), key=lambda each: each.name):
        number, _, name = file.name.removesuffix(".sql").partition("_")
        revision = ModuleType(name)
        vars(revision).update(down_revision=former, upgrade=_runs(file.read_text(encoding="utf-8")))
        yield Script(revision, number, str(file))
        former = number


def _runs(sql: str) -> Callable[[Connection], None]:
    def upgrade(connection: Connection) -> None:
        connection.execute(text(sql))

    return upgrade


def _known() -> list[str]:
    """This release's revisions, the newest first."""
    return [each.revision for each in _history().iterate_revisions("heads", "base")]


def current_revision(connection: Connection) -> str | None:
    """The revision the schema is at."""
    return MigrationContext.configure(connection, opts={"version_table": _VERSION_TABLE}).get_current_revision()
