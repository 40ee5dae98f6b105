"""How far the copy is compared with the chain. The SQL beside this file is what runs."""

from importlib.resources import files

from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the columns and the table."""
    op.execute(
        (files("service_common.db.migrations") / "versions" / "0015_comparisons.sql").read_text(encoding="utf-8")
    )
