"""When pages and approvals may be deleted. The SQL beside this file is what runs."""

from importlib.resources import files

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the columns."""
    op.execute((files("service_common.db.migrations") / "versions" / "0007_lifetimes.sql").read_text(encoding="utf-8"))
