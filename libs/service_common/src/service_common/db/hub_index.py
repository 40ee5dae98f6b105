"""Schema ``hub_index``: the indexed copy of the Hub event log. Sole writer: the indexer.

One table per kind of fact, append-only; each row carries the block and log it came from. Nothing is updated: the
current state is the latest row, and a reorg is the deletion of every row above the common ancestor. Rows of ``head``
are the exception, one per chain, how far the copy is; and ``open_bounties``, which follows from the others.
"""

from collections.abc import Mapping
from typing import Any, Final

from bounty_protocol.domain.hub_events import (
    EVENT_FIELDS,
    BountyCreated,
    BountyFinalized,
    DeliveryKeyWithdrawn,
    FeePolicyChanged,
    GuardianHeartbeat,
    SubmissionRecorded,
    VerdictRecorded,
)
from bounty_protocol.domain.lifecycle import HubEnum
from bounty_protocol.types import Address, BountyId, Bytes32, RosterVersion, TokenAmount, UnixSeconds
from sqlalchemy import (
    BigInteger,
    Boolean,
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
    false,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

SCHEMA = "hub_index"
SCRATCH = "hub_index_scratch"
"""The same tables a second time, for a replay beside the copy that is read."""
metadata = MetaData(schema=SCHEMA)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, autoincrement=False)


def _columns(event: type) -> list[Column[Any]]:
    """A column for each field of an event, by its type."""
    return [
        Column(name, _column_type(hint), nullable=False, autoincrement=False)
        for name, hint in EVENT_FIELDS[event].items()
    ]


def _column_type(hint: Any) -> TypeEngine[Any]:
    if isinstance(hint, type) and issubclass(hint, HubEnum):
        return SmallInteger()
    return _TYPES[hint]


_TYPES: Final[Mapping[Any, TypeEngine[Any]]] = {
    Address: Text(),
    Bytes32: Text(),
    TokenAmount: Numeric(78, 0, asdecimal=True),
    BountyId: BigInteger(),
    RosterVersion: BigInteger(),
    UnixSeconds: BigInteger(),
    int: Integer(),
}


def _fact(name: str, *items: SchemaItem) -> Table:
    """A table of facts read from logs: its own columns and where in the chain they are."""
    own = [item for item in items if isinstance(item, Column)]
    rest = [item for item in items if not isinstance(item, Column)]
    origin = (_number("block_number"), _text("block_hash"), _number("log_index"), _text("tx_hash"), _number("time"))
    if not any(isinstance(item, PrimaryKeyConstraint) for item in rest):
        rest.append(_origin_key())
    return Table(name, metadata, *own, *origin, *rest, Index(f"{name}_block", "block_number"))


def _effective_from() -> Column[int]:
    """When a publication takes effect. A row of a release before 0009 has none: it took effect in its block."""
    return Column("effective_from", BigInteger)


def _origin_key() -> PrimaryKeyConstraint:
    return PrimaryKeyConstraint("block_number", "log_index")


head = Table(
    "head",
    metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    _text("hub_address"),
    _number("block_number"),
    _text("block_hash"),
    _number("block_time"),
    _number("finalized_number"),
    _number("finalized_time"),
    Column("halted", Text),
    _number("fence"),
    Column("tip_number", BigInteger, nullable=False, server_default="0"),
    Column("reorg_count", BigInteger, nullable=False, server_default="0"),
    Column("deepest_reorg", BigInteger, nullable=False, server_default="0"),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("proven_number", BigInteger),
    Column("checked_number", BigInteger, nullable=False, server_default="0"),
    Column("quiet", Boolean, nullable=False, server_default="false"),
    Column("compare_next", BigInteger, nullable=False, server_default="0"),
    Column("compare_new", BigInteger, nullable=False, server_default="0"),
    Column("compare_began", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("compared_at", DateTime(timezone=True)),
    Column("disputed", Integer, nullable=False, server_default="0"),
    Column("rebuilds", Integer, nullable=False, server_default="0"),
)
"""``proven_number``: up to this block nothing that changed the Hub's storage is missing. ``checked_number``: up to this
block every log is of a receipt of its block. ``quiet``: no log since the newest row of ``proofs``.

``compare_next``: where the comparison of all history with the chain goes on, 0 between two; ``compare_new``: up to here
final blocks were compared. ``compare_began``, ``compared_at``: when the newest round began, and when the last whole one
did. ``disputed``: how many rows ``disputes`` has. ``rebuilds``: how often the copy was replaced by a new one."""
disputes = Table(
    "disputes",
    metadata,
    Column("bounty_id", BigInteger, primary_key=True, autoincrement=False),
    Column("block_number", BigInteger, primary_key=True, autoincrement=False),
    Column("found_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)
"""Bounties with rows in a block that are proven not to be the chain's; 0: rows that belong to no bounty. Nothing is
authorized by them until a rebuild."""
blocks = Table(
    "blocks",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    _text("hash"),
    _text("parent_hash"),
    _number("time"),
)
proofs = Table(
    "proofs",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    _text("hash"),
    _text("storage_root"),
    _number("since"),
)
"""The Hub's storage root after a block, proven. Nothing is missing from the copy between the block ``since`` and this
one; ``since`` 0: nothing at all."""
backfill = Table(
    "backfill",
    metadata,
    Column("chain_id", BigInteger, autoincrement=False),
    _number("first_block"),
    _number("last_block"),
    _text("stretch"),
    PrimaryKeyConstraint("chain_id", "first_block"),
)
"""Ranges of final blocks that were read ahead and wait for the follower; not facts, and deleted once applied."""
logs = _fact(
    "logs",
    Column("bounty_id", BigInteger),
    Column("topics", ARRAY(Text), nullable=False),
    Column("data", LargeBinary, nullable=False),
    Index("logs_bounty", "bounty_id", "block_number", "log_index"),
)
bounties = _fact(
    "bounties",
    *_columns(BountyCreated),
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
    *(Column(name, BigInteger) for name in ("submission_deadline", "reveal_at", "judging_deadline")),
)
"""Each bounty without a row in ``finalizations``, with its times. Nobody writes it: triggers of 0012 keep it."""
submissions = _fact(
    "submissions",
    *_columns(SubmissionRecorded),
    Index("submissions_latest", "bounty_id", "solver", "block_number", "log_index"),
    Index("submissions_solver", "solver", "bounty_id"),
)
verdicts = _fact(
    "verdicts",
    *_columns(VerdictRecorded),
    Index("verdicts_latest", "bounty_id", "guardian", "block_number", "log_index"),
    Index("verdicts_guardian", "guardian", "block_number", "log_index"),
)
finalizations = _fact("finalizations", *_columns(BountyFinalized), PrimaryKeyConstraint("bounty_id"))
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
    _effective_from(),
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
heartbeats = _fact(
    "heartbeats",
    *_columns(GuardianHeartbeat),
    Index("heartbeats_guardian", "guardian", "block_number", "log_index"),
)
delivery_keys = _fact("delivery_keys", _text("key"), _effective_from())
delivery_key_withdrawals = _fact("delivery_key_withdrawals", *_columns(DeliveryKeyWithdrawn))
fee_policies = _fact("fee_policies", *_columns(FeePolicyChanged))
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
    Column("retracts_final", Boolean, nullable=False, server_default=false()),
    Index("changes_place", "block_number", "log_index", unique=True),
)
"""Logs that the copy took in and took back, in that order: a log by its place, or without a ``log_index`` a
reorg or a rebuild that took every log out that is above the block, where ``retracts_final`` even final ones. The
numbers are this copy's own, so a replay has none."""

_NO_FACTS = (head, backfill, blocks, changes, disputes, open_bounties, proofs)
FACTS: tuple[Table, ...] = tuple(table for table in metadata.tables.values() if table not in _NO_FACTS)
"""Every table whose rows a reorg retracts."""
