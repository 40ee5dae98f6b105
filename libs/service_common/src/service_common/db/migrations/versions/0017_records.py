"""Which index a record is of. The SQL beside this file is what runs."""

from importlib.resources import files

from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Add the columns."""
    op.execute((files("service_common.db.migrations") / "versions" / "0017_records.sql").read_text(encoding="utf-8"))
