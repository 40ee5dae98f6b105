"""Bringing a database to the newest schema.

Promises: one history for all services, run by the migrator's role, safe to start twice at once (an advisory lock),
nothing to do when the schema is current. A migration is backward compatible for one release.
"""

from importlib.resources import as_file, files
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from service_common.db.engine import make_engine

_LOCK: Final = 0x5EC0_DB00


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


def current_revision(connection: Connection) -> str | None:
    """The revision the schema is at."""
    return MigrationContext.configure(connection, opts={"version_table": "schema_version"}).get_current_revision()
