"""Notices about the Hub. The SQL beside this file is what runs."""

from importlib.resources import files

from alembic import op

revision = "0020"
down_revision = "0018"


def upgrade() -> None:
    """Add the table."""
    op.execute(
        (files("service_common.db.migrations") / "versions" / "0020_hub_notices.sql").read_text(encoding="utf-8")
    )
