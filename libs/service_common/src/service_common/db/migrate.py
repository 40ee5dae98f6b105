"""Bringing a database to the newest schema.

All services share one history. It is run by the migrator's role, is safe to start twice at once (an advisory lock), and
has nothing to do when the schema is current. A migration is backward compatible for one release, and online: each is a
transaction of its own, takes as long as it needs, and gives up a table that it cannot lock at once, so that nobody
queues behind it; then it tries again.
"""

from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
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
_PAUSE_SECONDS: Final = 1.0
_LOCK: Final = 0x5EC0_DB00
_CLOCK: Final = SystemClock()

log = get_logger(__name__)


class SchemaBehind(Exception):
    """The schema is older than this release."""


def migrate(url: str, *, clock: Clock = _CLOCK, seconds: float = PATIENCE_SECONDS, revision: str = "head") -> str:
    """Apply what is missing up to ``revision``; the revision the schema is at afterwards. A newer one stays.

    Raises SQLAlchemy's ``OperationalError`` when a table, or another migration's end, was not to be had in ``seconds``.
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
    with engine.connect() as connection, as_file(files(__package__)) as folder:
        connection.execute(text("SELECT pg_advisory_lock(:lock)"), {"lock": _LOCK})
        connection.commit()
        config = Config()
        config.set_main_option("script_location", str(folder / "migrations"))
        config.attributes["connection"] = connection
        found = current_revision(connection)
        connection.commit()
        if found is not None and found not in _known(folder):
            log.warning("the schema is of a newer release and stays as it is", revision=found)
            return found
        command.upgrade(config, revision)
        connection.commit()
        return current_revision(connection) or ""


def await_schema(url: str, *, clock: Clock, seconds: float) -> str:
    """Wait until the schema is at this release's revision or a newer one; the revision it is at.

    Raises ``SchemaBehind`` when it is not within ``seconds``. A revision this release does not know is a newer one:
    migrations are backward compatible for one release.
    """
    ends, found = clock.monotonic() + seconds, None
    with engine_of_job(url, application="await-schema") as engine, as_file(files(__package__)) as folder:
        known, reported = _known(folder), ""
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


def _known(folder: Path) -> list[str]:
    """This release's revisions, the newest first."""
    return [each.revision for each in ScriptDirectory(str(folder / "migrations")).walk_revisions()]


def current_revision(connection: Connection) -> str | None:
    """The revision the schema is at."""
    return MigrationContext.configure(connection, opts={"version_table": "schema_version"}).get_current_revision()
