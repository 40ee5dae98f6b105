"""The scratch copy of the index. The SQL beside this file is what runs."""

from importlib.resources import files

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the schema, its tables and its grant."""
    op.execute((files("service_common.db.migrations") / "versions" / "0003_scratch.sql").read_text(encoding="utf-8"))
