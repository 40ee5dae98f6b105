"""Bringing a database to the newest schema.

Promises: one history for all services, run by the migrator's role, safe to start twice at once (an advisory lock),
nothing to do when the schema is current. A migration is backward compatible for one release.
"""

from contextlib import suppress
from importlib.resources import as_file, files
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from service_common.clock import Clock
from service_common.db.engine import engine_of_job, make_engine

_LOCK: Final = 0x5EC0_DB00


class SchemaBehind(Exception):
    """The schema is older than this release."""


def migrate(url: str) -> str:
    """Apply what is missing; the revision the schema is at afterwards."""
    engine = make_engine(url, application="migrate", pool_size=1)
    with engine.connect() as connection, as_file(files(__package__)) as folder:
        connection.execute(text("SELECT pg_advisory_lock(:lock)"), {"lock": _LOCK})
        connection.commit()
        config = Config()
        config.set_main_option("script_location", str(folder / "migrations"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        connection.commit()
        connection.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": _LOCK})
    engine.dispose()
    return ScriptDirectory.from_config(config).get_current_head() or ""


def await_schema(url: str, *, clock: Clock, seconds: float) -> str:
    """Wait until the schema is at this release's revision or a newer one; the revision it is at.

    Raises ``SchemaBehind`` when it is not within ``seconds``. A revision this release does not know is a newer one:
    migrations are backward compatible for one release.
    """
    ends, found = clock.monotonic() + seconds, None
    with engine_of_job(url, application="await-schema") as engine, as_file(files(__package__)) as folder:
        known = [each.revision for each in ScriptDirectory(str(folder / "migrations")).walk_revisions()]
        while clock.monotonic() < ends:
            with suppress(OperationalError, ProgrammingError), engine.connect() as connection:
                found = current_revision(connection)
                if found is not None and (found == known[0] or found not in known):
                    return found
            clock.sleep(1.0)
    raise SchemaBehind(f"the database is at schema {found or 'none'}; this release needs {known[0]}: run the migration")


def current_revision(connection: Connection) -> str | None:
    """The revision the schema is at."""
    return MigrationContext.configure(connection, opts={"version_table": "schema_version"}).get_current_revision()
