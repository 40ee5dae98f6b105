"""How far the copy is proven. The SQL beside this file is what runs."""

from importlib.resources import files

from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the columns and the tables."""
    op.execute((files("service_common.db.migrations") / "versions" / "0014_proofs.sql").read_text(encoding="utf-8"))
