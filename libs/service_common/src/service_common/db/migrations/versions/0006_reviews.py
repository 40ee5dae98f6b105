"""Reviews that can be repeated, and a cap on paid ones. The SQL beside this file is what runs."""

from importlib.resources import files

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the columns and the table."""
    op.execute((files("service_common.db.migrations") / "versions" / "0006_reviews.sql").read_text(encoding="utf-8"))
