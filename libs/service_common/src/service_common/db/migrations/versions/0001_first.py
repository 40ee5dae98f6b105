"""The first schema. The SQL beside this file is what runs; it is what is reviewed."""

from importlib.resources import files

from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create every schema, table and grant."""
    op.execute((files("service_common.db.migrations") / "versions" / "0001_first.sql").read_text(encoding="utf-8"))
