"""Lists, totals and the feed of changes. The SQL beside this file is what runs."""

from importlib.resources import files

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the tables and columns."""
    op.execute((files("service_common.db.migrations") / "versions" / "0008_lists.sql").read_text(encoding="utf-8"))
