"""Retractions of what was final, and webhooks that lost count. The SQL beside this file is what runs."""

from importlib.resources import files

from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Add the columns."""
    op.execute(
        (files("service_common.db.migrations") / "versions" / "0016_retractions.sql").read_text(encoding="utf-8")
    )
