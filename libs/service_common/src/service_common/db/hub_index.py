"""Schema ``hub_index``: the indexed copy of the Hub event log. Sole writer: the indexer.

One table per kind of fact, append-only; each row carries the block and log it came from. Nothing is updated: the
current state is the latest row, and a reorg is the deletion of every row from a block on. Rows of ``head`` are the
exception, one per chain, how far the copy is; and ``open_bounties``, which follows from the others.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from bounty_protocol.domain.hub_events import (
    EVENT_FIELDS,
    AwardClaimed,
    BountyCreated,
    BountyFinalized,
    DeliveryKeyPublished,
    DeliveryKeyWithdrawn,
    FeePolicyChanged,
    GuardianFeeClaimed,
    GuardianHeartbeat,
    HubEvent,
    ProtocolFeeClaimed,
    RefundClaimed,
    RosterPublished,
    SubmissionRecorded,
    VerdictRecorded,
)
from bounty_protocol.domain.lifecycle import HubEnum
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


class RowMeaning(NamedTuple):
    """The meaning of a row, and the events that it is made from."""

    about: str
    events: tuple[type, ...] = ()
    from_fields: bool = False
    """Whether the columns are the event's fields."""


def meaning_of(table: Table) -> RowMeaning:
    """The meaning of a row of this table."""
    found: RowMeaning = table.info["meaning"]
    return found


def _info(*meaning: Any) -> dict[str, RowMeaning]:
    return {"meaning": RowMeaning(*meaning)}


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


def _event(name: str, event: type, about: str, *items: SchemaItem) -> Table:
    """A table of one event: its fields and where in the chain they are."""
    return _fact(name, RowMeaning(about, (event,), from_fields=True), *_columns(event), *items)


def _fact(name: str, meaning: RowMeaning, *items: SchemaItem) -> Table:
    """A table of facts read from logs: its own columns and where in the chain they are."""
    own = [item for item in items if isinstance(item, Column)]
    rest = [item for item in items if not isinstance(item, Column)]
    origin = (_number("block_number"), _text("block_hash"), _number("log_index"), _text("tx_hash"), _number("time"))
    if not any(isinstance(item, PrimaryKeyConstraint) for item in rest):
        rest.append(_origin_key())
    info = {"meaning": meaning}
    return Table(name, metadata, *own, *origin, *rest, Index(f"{name}_block", "block_number"), info=info)


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
    _text("finalized_hash"),
    _number("finalized_time"),
    _number("tip_number"),
    Column("halted", Text),
    Column("reorg_count", BigInteger, nullable=False, server_default="0"),
    Column("deepest_reorg", BigInteger, nullable=False, server_default="0"),
    Column("rebuilds", Integer, nullable=False, server_default="0"),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    info=_info("how far the copy of a chain is: indexed and finalized block, why it is halted"),
)
"""``tip_number``: the newest block that the chain showed. ``rebuilds``: how often the copy was replaced by a new one.
``updated_at``: of the last step, also one that found nothing; no other writer's change is in between."""

logs = _fact(
    "logs",
    RowMeaning("the raw log, for digests and audits", tuple(EVENT_FIELDS)),
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
    "a bounty",
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
    info=_info("a bounty without a row in `finalizations`, with its times; kept by triggers of the database"),
)
"""Each bounty without a row in ``finalizations``, with its times. Nobody writes it: triggers keep it."""
submissions = _event(
    "submissions",
    SubmissionRecorded,
    "one Submission of a Solver; a later one replaces it",
    Index("submissions_latest", "bounty_id", "solver", "block_number", "log_index"),
    Index("submissions_solver", "solver", "bounty_id"),
)
verdicts = _event(
    "verdicts",
    VerdictRecorded,
    "one Verdict of a Guardian; a later one replaces it",
    Index("verdicts_latest", "bounty_id", "guardian", "block_number", "log_index"),
    Index("verdicts_guardian", "guardian", "block_number", "log_index"),
)
finalizations = _event("finalizations", BountyFinalized, "how a bounty ended", PrimaryKeyConstraint("bounty_id"))
claims = _fact(
    "claims",
    RowMeaning("an amount pulled", (AwardClaimed, RefundClaimed, GuardianFeeClaimed, ProtocolFeeClaimed)),
    _number("bounty_id"),
    _text("kind"),
    _text("recipient"),
    Column("amount", _TYPES[TokenAmount], nullable=False),
    Index("claims_bounty", "bounty_id"),
    Index("claims_recipient", "recipient", "block_number"),
)
rosters = _fact(
    "rosters",
    RowMeaning("a roster version, and from when it takes effect", (RosterPublished,)),
    _number("version"),
    _text("guardian_roster_hash"),
    Column("quorum", Integer, nullable=False),
    _number("effective_from"),
    PrimaryKeyConstraint("version"),
)
roster_members = _fact(
    "roster_members",
    RowMeaning("a member of a roster version, by its place", (RosterPublished,)),
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
    "a sign of life",
    Index("heartbeats_guardian", "guardian", "block_number", "log_index"),
)
delivery_keys = _fact(
    "delivery_keys",
    RowMeaning("a delivery public key, and from when it takes effect", (DeliveryKeyPublished,), from_fields=True),
    _text("key"),
    _number("effective_from"),
)
delivery_key_withdrawals = _event(
    "delivery_key_withdrawals", DeliveryKeyWithdrawn, "a delivery public key that was withdrawn at once"
)
fee_policies = _event("fee_policies", FeePolicyChanged, "fees for future bounties")
totals = _fact(
    "totals",
    RowMeaning("totals of all bounties, as of a block that changed them"),
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
    info=_info("a log that this copy took in, or a reorg that took logs out, in the order in which it did"),
)
"""Logs that the copy took in and took back, in that order: a log by its place, or without a ``log_index`` a
reorg or a rebuild that took every log out that is above the block. The numbers are this copy's own."""

_NO_FACTS = (head, changes, open_bounties)
FACTS: tuple[Table, ...] = tuple(table for table in metadata.tables.values() if table not in _NO_FACTS)
"""Every table whose rows a reorg retracts."""
EVENT_TABLES: Final[Mapping[type[HubEvent], Table]] = {
    meaning_of(table).events[0]: table for table in FACTS if meaning_of(table).from_fields
}
"""Events whose fields are the columns of one table."""
