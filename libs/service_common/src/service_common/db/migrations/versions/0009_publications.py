"""When publications take effect, and withdrawals of delivery keys. The SQL beside this file is what runs."""

from importlib.resources import files

from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the tables and columns."""
    op.execute(
        (files("service_common.db.migrations") / "versions" / "0009_publications.sql").read_text(encoding="utf-8")
    )
