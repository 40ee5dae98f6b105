"""Webhooks: who is to hear of what, and how far each has heard. The SQL beside this file is what runs."""

from importlib.resources import files

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the schema."""
    op.execute((files("service_common.db.migrations") / "versions" / "0010_webhooks.sql").read_text(encoding="utf-8"))
