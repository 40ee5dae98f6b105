"""Schema ``delivery``: wrapped content keys. Sole writer, and sole reader: the delivery service."""

from sqlalchemy import BigInteger, Column, DateTime, LargeBinary, MetaData, Table, Text, func

SCHEMA = "delivery"
metadata = MetaData(schema=SCHEMA)

wraps = Table(
    "wraps",
    metadata,
    Column("bounty_id", BigInteger, primary_key=True, autoincrement=False),
    Column("solver", Text, primary_key=True),
    Column("submission_commitment", Text, primary_key=True),
    Column("wrapped_key", LargeBinary, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)
