"""Reads of the indexed Hub log: what authorization and the public routes see.

One connection from ``engine.reading`` sees one moment of the copy. Every fact comes with the block that set it, so that
the caller can check whether it is finalized. Nothing here decides; ``Head.is_finalized`` only compares.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, TypeVar, cast

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.blocks import blocks_in
from bounty_protocol.domain.lifecycle.bounty import Bounty
from bounty_protocol.domain.lifecycle.delivery_keys import DeliveryKeys, delivery_keys_at
from bounty_protocol.domain.lifecycle.hub_events import (
    BountyCreated,
    BountyFinalized,
    DeliveryKeyPublished,
    DeliveryKeyWithdrawn,
    FeePolicyChanged,
    Logged,
    Origin,
    OwnershipTransferred,
    OwnershipTransferStarted,
    SubmissionRecorded,
    VerdictRecorded,
    event_of,
)
from bounty_protocol.domain.lifecycle.roster import Roster, RosterMember
from bounty_protocol.types import (
    ZERO_ADDRESS,
    Address,
    BlockNumber,
    BountyId,
    Bytes32,
    ChainId,
    UnixSeconds,
)
from bounty_protocol.wire.deployment import RosterAnnouncement
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    FromClause,
    RowMapping,
    Select,
    Subquery,
    Table,
    and_,
    func,
    literal_column,
    null,
    or_,
    select,
    tuple_,
    union_all,
)
from sqlalchemy.dialects.postgresql import distinct_on

from service_common.db import hub_index as t

LOOKED_SECONDS: Final = 60.0
"""After a longer time without a look at the chain nothing is said about its newest block."""
HEAD_COLUMNS: Final = (
    *t.head.c,
    func.date_part("epoch", func.clock_timestamp() - t.head.c.updated_at).label("seconds_since_look"),
)
T = TypeVar("T")
Row = RowMapping | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals of all bounties; amounts in smallest units. ``escrowed`` is what was ever paid in."""

    bounties: int
    awarded: int
    unawarded: int
    escrowed: int
    awards_paid: int
    refunds_paid: int
    guardian_fees_paid: int
    protocol_fees_paid: int

    @property
    def final(self) -> int:
        return self.awarded + self.unawarded

    @property
    def open(self) -> int:
        return self.bounties - self.final

    @property
    def held(self) -> int:
        """The amount that the Hub still holds."""
        return self.escrowed - self.awards_paid - self.refunds_paid - self.guardian_fees_paid - self.protocol_fees_paid


@dataclass(frozen=True, slots=True)
class Head:
    """How far the copy is, and how far the chain is final."""

    chain_id: ChainId
    hub_address: Address
    block_number: BlockNumber
    block_hash: Bytes32
    block_time: UnixSeconds
    finalized_number: BlockNumber
    finalized_time: UnixSeconds
    halted: str | None
    tip_number: BlockNumber
    """The newest block the chain showed when the copy moved last."""
    reorg_count: int
    deepest_reorg: int
    seconds_since_look: float
    """For how long nobody has looked at the chain for this copy, by the database's clock."""

    def is_finalized(self, block: BlockNumber) -> bool:
        """Return whether a fact set in this block can no longer change by a reorg."""
        return block <= self.finalized_number

    @property
    def shows_tip(self) -> bool:
        """Whether the copy's newest block was the chain's newest at the last poll."""
        return self.block_number >= self.tip_number and self.seconds_since_look < LOOKED_SECONDS

    @property
    def finality_lag_seconds(self) -> int:
        """Return the seconds that a fact currently takes from its block to finality."""
        return max(1, self.block_time - self.finalized_time)

    def blocks_in(self, seconds: int) -> int:
        """Return how many blocks the chain makes in these seconds, at its pace since the final block."""
        return blocks_in(
            seconds, made=self.block_number - self.finalized_number, passed=self.block_time - self.finalized_time
        )

    @property
    def seconds_per_block(self) -> float:
        """The chain's pace since the final block."""
        made = max(1, self.block_number - self.finalized_number)
        return round((self.block_time - self.finalized_time) / made, 3)


def read_head(connection: Connection, chain_id: ChainId) -> Head | None:
    """Read the position of the copy of this chain; None before the first block is indexed."""
    row = connection.execute(select(*HEAD_COLUMNS).where(t.head.c.chain_id == chain_id)).mappings().first()
    return None if row is None else head_of_row(row)


def head_of_row(row: Row, prefix: str = "") -> Head:
    """Return the head of a row of ``HEAD_COLUMNS``, which may be among others with a prefix."""
    return Head(**{each.name: row[f"{prefix}{each.name}"] for each in fields(Head)})


def read_bounty(connection: Connection, bounty_id: BountyId) -> Bounty | None:
    """Return one bounty."""
    b, ended = t.bounties.c, t.finalizations.c
    found = select(t.bounties, *ENDING_COLUMNS).outerjoin(t.finalizations, ended.bounty_id == b.bounty_id)
    row = connection.execute(found.where(b.bounty_id == bounty_id)).mappings().first()
    return None if row is None else bounty_of_row(row)


def read_roster(connection: Connection, version: int) -> Roster | None:
    """Read a published roster with each Guardian's last activity: a Verdict or a heartbeat."""
    row = connection.execute(select(t.rosters).where(t.rosters.c.version == version)).mappings().first()
    if row is None:
        return None
    m = t.roster_members.c
    members = connection.execute(
        select(m.guardian, m.encryption_public_key, last_active(m.guardian).label("last_active_at"))
        .where(m.version == version)
        .order_by(m.position)
    )
    return Roster(
        version,
        Bytes32(row["guardian_roster_hash"]),
        row["quorum"],
        tuple(
            RosterMember(Address(each.guardian), Bytes32(each.encryption_public_key), each.last_active_at)
            for each in members
        ),
    )


def read_current_roster(connection: Connection, now: UnixSeconds) -> Roster | None:
    """Read the roster that a bounty created at ``now``, the newest indexed block's time, pins."""
    published = _publications()
    c = published.c
    kept = or_(c.replaced_at.is_(None), c.replaced_at >= c.effective_from)  # else it never takes effect
    in_effect = select(func.max(c.version)).where(c.effective_from <= now, kept)
    version = connection.execute(in_effect).scalar()
    return None if version is None else read_roster(connection, version)


def read_announced_roster(connection: Connection, now: UnixSeconds) -> RosterAnnouncement | None:
    """Read the newest roster, while it is not in effect yet."""
    c = _publications().c
    newest = select(c.version, c.guardian_roster_hash, c.effective_from).order_by(c.version.desc()).limit(1)
    row = connection.execute(newest).first()
    if row is None or row.effective_from <= now:
        return None
    return RosterAnnouncement(row.version, row.guardian_roster_hash, row.effective_from)


def _publications() -> Subquery:
    """Select every roster version with the times from which it takes effect and at which the next one was published."""
    c = t.rosters.c
    following = func.lead(c.time).over(order_by=c.version).label("replaced_at")
    return select(c.version, c.guardian_roster_hash, c.effective_from, following).subquery("publications")


def active_submissions(bounty_id: BountyId | BindParameter[BountyId], limit: int) -> Select[Any]:
    """Select each Solver's current Submission, oldest first. Which these are an index alone shows; only the rows of the
    page are read, of a bounty that may have a million.
    """
    c = t.submissions.c
    newest_first = c.solver, c.block_number.desc(), c.log_index.desc()
    of_bounty = select(c.block_number, c.log_index).where(c.bounty_id == bounty_id)
    current = of_bounty.ext(distinct_on(c.solver)).order_by(*newest_first).subquery("current").c
    oldest = select(current.block_number, current.log_index).order_by(current.block_number, current.log_index)
    shown = oldest.limit(limit).subquery("shown")
    its_place = and_(c.block_number == shown.c.block_number, c.log_index == shown.c.log_index)
    return select(t.submissions).join(shown, its_place).order_by(c.block_number, c.log_index)


def read_submission(
    connection: Connection, bounty_id: BountyId, solver: Address, *, oldest: bool = False
) -> Logged[SubmissionRecorded] | None:
    """Return one Solver's current Submission, or the ``oldest``; no other is read, as there may be a million."""
    c = t.submissions.c
    place = (c.block_number, c.log_index) if oldest else (c.block_number.desc(), c.log_index.desc())
    found = select(t.submissions).where(c.bounty_id == bounty_id, c.solver == solver).order_by(*place).limit(1)
    row = connection.execute(found).mappings().first()
    return None if row is None else logged(SubmissionRecorded, row)


def read_latest_verdicts(connection: Connection, bounty_id: BountyId) -> list[Logged[VerdictRecorded]]:
    """Read each Guardian's current Verdict."""
    v = t.verdicts.c
    latest = select(t.verdicts).where(v.bounty_id == bounty_id, is_newest(t.verdicts, "guardian"))
    return [logged(VerdictRecorded, row) for row in connection.execute(latest.order_by(v.guardian)).mappings()]


def former_verdicts(*, first_other: bool = False) -> FromClause:
    """Select, for a row of ``verdicts`` in the same FROM, the Verdict of the same Guardian that it replaced. With
    ``first_other`` select the latest earlier one that decided otherwise, so that a repetition hides no change.
    """
    c, former = t.verdicts.c, t.verdicts.alias("earlier")
    is_earlier = tuple_(former.c.block_number, former.c.log_index) < tuple_(c.block_number, c.log_index)
    of_the_same = (former.c.bounty_id == c.bounty_id) & (former.c.guardian == c.guardian)
    newest = select(former).where(of_the_same, is_earlier).correlate(t.verdicts)
    if first_other:
        decided, before = ((of.kind, of.solver, of.submission_commitment) for of in (c, former.c))
        is_same = and_(*(one.is_not_distinct_from(other) for one, other in zip(decided, before, strict=True)))
        newest = newest.order_by(is_same)
    newest = newest.order_by(former.c.block_number.desc(), former.c.log_index.desc()).limit(1)
    return newest.lateral("former")


def read_totals(connection: Connection) -> Totals:
    """Read the totals of all bounties at the newest indexed block."""
    row = _newest(connection, t.totals)
    return Totals(*(0 if row is None else int(row[field.name]) for field in fields(Totals)))


def read_fee_policy(connection: Connection) -> FeePolicyChanged | None:
    """Read the fees of bounties created from now on; None if they were never set."""
    row = _newest(connection, t.fee_policies)
    return None if row is None else _event(FeePolicyChanged, row)


def of_no_bounty(kind: type) -> ColumnElement[bool]:
    """Return whether a log is this event, which belongs to no bounty. With an index the database finds it among the
    heartbeats, which belong to no bounty either.
    """
    return and_(t.logs.c.bounty_id.is_(None), t.topic == hub_abi().event(kind.__name__).topic)


def read_offered_owner(connection: Connection) -> Address | None:
    """Read the account to which ownership of the Hub is offered; None if there is none."""
    # Each kind by a query of its own: its index has them in order.
    offered, taken = (
        _newest(connection, t.logs, of_no_bounty(kind)) for kind in (OwnershipTransferStarted, OwnershipTransferred)
    )
    if offered is None or (taken is not None and _place(taken) > _place(offered)):
        return None
    event = hub_abi().event(OwnershipTransferStarted.__name__)
    owner = Address(str(event.decode(offered["topics"], offered["data"])["new_owner"]))
    return None if owner == ZERO_ADDRESS else owner


def _newest(connection: Connection, table: Table, *those: ColumnElement[bool]) -> RowMapping | None:
    """Read the row of the newest log among ``those``."""
    newest_first = table.c.block_number.desc(), table.c.log_index.desc()
    return connection.execute(select(table).where(*those).order_by(*newest_first).limit(1)).mappings().first()


def _place(row: RowMapping) -> tuple[int, int]:
    return row["block_number"], row["log_index"]


def read_delivery_keys(connection: Connection, now: UnixSeconds) -> DeliveryKeys:
    """Read the delivery keys at ``now``, the newest indexed block's time."""
    keys, gone = t.delivery_keys.c, t.delivery_key_withdrawals.c
    published = select(keys.key, keys.time, keys.block_number, keys.log_index, keys.effective_from.label("at"))
    withdrawn = select(gone.key, gone.time, gone.block_number, gone.log_index, null().label("at"))
    both = union_all(published, withdrawn).subquery()
    rows = connection.execute(select(both).order_by(both.c.block_number, both.c.log_index))
    return delivery_keys_at(
        [
            (
                DeliveryKeyWithdrawn(Bytes32(row.key))
                if row.at is None
                else DeliveryKeyPublished(Bytes32(row.key), UnixSeconds(row.at)),
                UnixSeconds(row.time),
            )
            for row in rows
        ],
        now,
    )


_ENDING: Final = "ending_"
ENDING_COLUMNS: Final = tuple(column.label(f"{_ENDING}{column.name}") for column in t.finalizations.c)
"""How a bounty ended, beside its own columns in a row."""


def bounty_of_row(row: RowMapping) -> Bounty:
    """Return the bounty of a row of ``bounties`` with ``ENDING_COLUMNS`` from an outer join."""
    own = logged(BountyCreated, row)
    if row[f"{_ENDING}bounty_id"] is None:
        return Bounty(own, None)
    ending = {column.name: row[f"{_ENDING}{column.name}"] for column in t.finalizations.c}
    return Bounty(own, logged(BountyFinalized, ending))


def is_newest(table: Table, account: str) -> ColumnElement[bool]:
    """Return whether a row is the newest of its account for its bounty: one look into the index a row, where the
    database would join an account's rows with one another, and any account may have thousands.
    """
    c, own = table.c, table.alias("own").c
    of_the_same = own.bounty_id == c.bounty_id, own[account] == c[account]
    newest_first = own.block_number.desc(), own.log_index.desc()
    newest = select(own.block_number, own.log_index).where(*of_the_same).order_by(*newest_first).limit(1)
    return tuple_(c.block_number, c.log_index) == newest.correlate(table).scalar_subquery()


def last_active(guardian: ColumnElement[str]) -> ColumnElement[int | None]:
    """Select when a Guardian was last active, by a Verdict or a heartbeat; null for never."""

    def newest(table: Table) -> ColumnElement[int | None]:
        c = table.c
        ordered = select(c.time).where(c.guardian == guardian).order_by(c.block_number.desc(), c.log_index.desc())
        return ordered.limit(1).scalar_subquery()

    return func.greatest(newest(t.verdicts), newest(t.heartbeats))


def by_sorting(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a sort expression that no index covers: few rows are then found by another condition and sorted, rather
    than searched for along the index of all rows.
    """
    return column + literal_column("0")


def logged(kind: type[T], row: Row) -> Logged[T]:
    """Return the event of a row of its table."""
    return Logged(_event(kind, row), Origin(**{each.name: row[each.name] for each in fields(Origin)}))


def _event(kind: type[T], row: Row) -> T:
    return event_of(kind, cast("Mapping[str, Any]", row))
