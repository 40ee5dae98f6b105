"""What is kept for somebody who has not paid for it yet. The SQL beside this file is what runs."""

from importlib.resources import files

from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add the columns and their indexes."""
    op.execute((files("service_common.db.migrations") / "versions" / "0013_pending.sql").read_text(encoding="utf-8"))
