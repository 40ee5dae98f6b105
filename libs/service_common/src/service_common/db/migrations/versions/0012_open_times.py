"""The times of open bounties beside their ids. The SQL beside this file is what runs."""

from importlib.resources import files

from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Add the columns, fill them, and have them kept."""
    op.execute((files("service_common.db.migrations") / "versions" / "0012_open_times.sql").read_text(encoding="utf-8"))
