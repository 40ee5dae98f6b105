"""How the index follows its chain, and what is read ahead of it. The SQL beside this file is what runs."""

from importlib.resources import files

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the columns and the table."""
    op.execute((files("service_common.db.migrations") / "versions" / "0004_backfill.sql").read_text(encoding="utf-8"))
