"""Schema ``hub_index``: the indexed copy of the Hub event log. Sole writer: the indexer.

One table per kind of fact, append-only; each row carries the block and log it came from. Nothing is updated: the
current state is the latest row, and a reorg is the deletion of every row from a block on. Rows of ``head`` are the
exception, one per chain, how far the copy is; and ``open_bounties``, which follows from the others.
"""

from collections.abc import Mapping
from typing import Any, Final

from bounty_protocol.domain.hub_events import (
    EVENT_FIELDS,
    BountyCreated,
    BountyFinalized,
    DeliveryKeyPublished,
    DeliveryKeyWithdrawn,
    FeePolicyChanged,
    GuardianHeartbeat,
    HubEvent,
    SubmissionRecorded,
    VerdictRecorded,
)
from bounty_protocol.types import Address, BountyId, Bytes32, RosterVersion, TokenAmount, UnixSeconds
from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    func,
    literal_column,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

SCHEMA = "hub_index"
SCRATCH = "hub_index_scratch"
"""The same tables a second time, which a rebuild fills and then puts in the place of the copy that is read."""
metadata = MetaData(schema=SCHEMA)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, autoincrement=False)


def _columns(event: type) -> list[Column[Any]]:
    """A column for each field of an event, by its type."""
    return [
        Column(name, _TYPES.get(hint, SmallInteger()), nullable=False, autoincrement=False)
        for name, hint in EVENT_FIELDS[event].items()
    ]


_TYPES: Final[Mapping[Any, TypeEngine[Any]]] = {  # all other fields are enumerations
    Address: Text(),
    Bytes32: Text(),
    TokenAmount: Numeric(78, 0, asdecimal=True),
    BountyId: BigInteger(),
    RosterVersion: BigInteger(),
    UnixSeconds: BigInteger(),
    int: Integer(),
}


def _event(name: str, event: type, *items: SchemaItem) -> Table:
    """A table of one event: its fields and where in the chain they are."""
    return _fact(name, *_columns(event), *items)


def _fact(name: str, *items: SchemaItem) -> Table:
    """A table of facts read from logs: its own columns and where in the chain they are."""
    own = [item for item in items if isinstance(item, Column)]
    rest = [item for item in items if not isinstance(item, Column)]
    origin = (_number("block_number"), _text("block_hash"), _number("log_index"), _text("tx_hash"), _number("time"))
    if not any(isinstance(item, PrimaryKeyConstraint) for item in rest):
        rest.append(PrimaryKeyConstraint("block_number", "log_index"))
    return Table(name, metadata, *own, *origin, *rest, Index(f"{name}_block", "block_number"))


head = Table(
    "head",
    metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    _text("hub_address"),
    _number("block_number"),
    _text("block_hash"),
    _number("block_time"),
    _number("finalized_number"),
    _text("finalized_hash"),
    _number("finalized_time"),
    _number("tip_number"),
    Column("halted", Text),
    Column("reorg_count", BigInteger, nullable=False, server_default="0"),
    Column("deepest_reorg", BigInteger, nullable=False, server_default="0"),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)
"""``tip_number``: the newest block that the chain showed.
``updated_at``: of the last step, also one that found nothing; no other writer's change is in between."""

logs = _fact(
    "logs",
    Column("bounty_id", BigInteger),
    Column("topics", ARRAY(Text), nullable=False),
    Column("data", LargeBinary, nullable=False),
    Index("logs_bounty", "bounty_id", "block_number", "log_index"),
)
topic = logs.c.topics[literal_column("1")]
"""Which event a log is of. The number is no parameter: an index is chosen by the text of its expression."""
Index("logs_of_no_bounty", topic, logs.c.block_number, logs.c.log_index, postgresql_where=logs.c.bounty_id.is_(None))
bounties = _event(
    "bounties",
    BountyCreated,
    PrimaryKeyConstraint("bounty_id"),
    Index("bounties_poster", "poster", "bounty_id"),
    Index("bounties_deadline", "submission_deadline", "bounty_id"),
    Index("bounties_award", text("(escrow_amount - protocol_fee - guardian_fee)"), "bounty_id"),
    Index("bounties_judging", "judging_deadline"),
    Index("bounties_page", "spec_commitment"),
    Index("bounties_roster", "roster_version", "bounty_id"),
)
open_bounties = Table(
    "open_bounties",
    metadata,
    Column("bounty_id", BigInteger, primary_key=True, autoincrement=False),
    *map(_number, ("submission_deadline", "reveal_at", "judging_deadline")),
)
"""Each bounty without a row in ``finalizations``, with its times. Nobody writes it: triggers keep it."""
submissions = _event(
    "submissions",
    SubmissionRecorded,
    Index("submissions_latest", "bounty_id", "solver", "block_number", "log_index"),
    Index("submissions_solver", "solver", "bounty_id"),
)
verdicts = _event(
    "verdicts",
    VerdictRecorded,
    Index("verdicts_latest", "bounty_id", "guardian", "block_number", "log_index"),
    Index("verdicts_guardian", "guardian", "block_number", "log_index"),
)
finalizations = _event("finalizations", BountyFinalized, PrimaryKeyConstraint("bounty_id"))
claims = _fact(
    "claims",
    _number("bounty_id"),
    _text("kind"),
    _text("recipient"),
    Column("amount", _TYPES[TokenAmount], nullable=False),
    Index("claims_bounty", "bounty_id"),
    Index("claims_recipient", "recipient", "block_number"),
)
rosters = _fact(
    "rosters",
    _number("version"),
    _text("guardian_roster_hash"),
    Column("quorum", Integer, nullable=False),
    _number("effective_from"),
    PrimaryKeyConstraint("version"),
)
roster_members = _fact(
    "roster_members",
    _number("version"),
    Column("position", Integer, nullable=False),
    _text("guardian"),
    _text("encryption_public_key"),
    PrimaryKeyConstraint("version", "position"),
    Index("roster_members_guardian", "guardian"),
)
heartbeats = _event(
    "heartbeats",
    GuardianHeartbeat,
    Index("heartbeats_guardian", "guardian", "block_number", "log_index"),
)
delivery_keys = _fact(
    "delivery_keys",
    _text("key"),
    _number("effective_from"),
)
delivery_key_withdrawals = _event("delivery_key_withdrawals", DeliveryKeyWithdrawn)
fee_policies = _event("fee_policies", FeePolicyChanged)
totals = _fact(
    "totals",
    _number("bounties"),
    _number("awarded"),
    _number("unawarded"),
    *(
        Column(name, _TYPES[TokenAmount], nullable=False)
        for name in ("escrowed", "awards_paid", "refunds_paid", "guardian_fees_paid", "protocol_fees_paid")
    ),
)
"""Totals of all bounties after each event that changes them; the newest row is the present."""
changes = Table(
    "changes",
    metadata,
    Column("number", BigInteger, Identity(always=False), primary_key=True),
    _number("block_number"),
    Column("log_index", BigInteger),
    Index("changes_place", "block_number", "log_index", unique=True),
)
"""Logs that the copy took in and took back, in that order: a log by its place, or without a ``log_index`` a
reorg or a rebuild that took every log out that is above the block. The numbers are this copy's own."""

_NO_FACTS = (head, changes, open_bounties)
FACTS: tuple[Table, ...] = tuple(table for table in metadata.tables.values() if table not in _NO_FACTS)
"""Every table whose rows a reorg retracts."""
EVENT_TABLES: Final[Mapping[type[HubEvent], Table]] = {
    BountyCreated: bounties,
    SubmissionRecorded: submissions,
    VerdictRecorded: verdicts,
    BountyFinalized: finalizations,
    GuardianHeartbeat: heartbeats,
    DeliveryKeyPublished: delivery_keys,
    DeliveryKeyWithdrawn: delivery_key_withdrawals,
    FeePolicyChanged: fee_policies,
}
"""Events whose fields are the columns of one table."""
