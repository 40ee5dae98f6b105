"""The settler's schema. The SQL beside this file is what runs."""

from importlib.resources import files

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the schema and its grant."""
    op.execute((files("service_common.db.migrations") / "versions" / "0002_settler.sql").read_text(encoding="utf-8"))
