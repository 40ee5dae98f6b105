"""Every service may read which schema this is. The SQL beside this file is what runs."""

from importlib.resources import files

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Grant it."""
    op.execute(
        (files("service_common.db.migrations") / "versions" / "0005_schema_version.sql").read_text(encoding="utf-8")
    )
