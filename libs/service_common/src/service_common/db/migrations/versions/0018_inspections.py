"""Inspections of what is kept. The SQL beside this file is what runs."""

from importlib.resources import files

from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add the tables and the column."""
    op.execute(
        (files("service_common.db.migrations") / "versions" / "0018_inspections.sql").read_text(encoding="utf-8")
    )
