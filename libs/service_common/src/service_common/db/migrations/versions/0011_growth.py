"""What reads need so that they cost the same in a large deployment. The SQL beside this file is what runs."""

from importlib.resources import files

from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Add the indexes, and the table of open bounties with what keeps it."""
    op.execute((files("service_common.db.migrations") / "versions" / "0011_growth.sql").read_text(encoding="utf-8"))
