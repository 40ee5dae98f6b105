"""Schema ``settler``: what the settler has sent. Sole writer: the settler.

The signed transaction is here before it is sent, so that a restart sends the same bytes again and never a second
transaction for the same bounty beside the first. ``attempts`` is 0 where every node refused the last one because the
key lacks ether: no node has it.
"""

from sqlalchemy import BigInteger, Column, DateTime, Integer, MetaData, Numeric, Table, Text, func

SCHEMA = "settler"
metadata = MetaData(schema=SCHEMA)

settlements = Table(
    "settlements",
    metadata,
    Column("bounty_id", BigInteger, primary_key=True, autoincrement=False),
    Column("nonce", BigInteger, nullable=False),
    Column("raw_transaction", Text, nullable=False),
    Column("tx_hash", Text, nullable=False),
    Column("max_fee_per_gas", Numeric(78, 0), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("sent_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)
