"""Rows of the index as pages show them: those of `/subgraph`, with the columns that a page's shape names.

Each list is one statement. What a page needs of a row is a field here and nowhere else.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar, get_args, get_type_hints

from bounty_protocol.domain.lifecycle.states import BountyStatus, Outcome, SettlementReason, VerdictKind
from bounty_protocol.domain.money.amounts import AmountKind
from bounty_protocol.types import Address, BountyId, Bytes32, TokenAmount, UnixSeconds
from service_common.db import app
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    Subquery,
    UnaryExpression,
    func,
    literal,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY

from service_api.moderation.texts import page_notice, verdict_notice, withheld_of
from service_api.pages.titles import Title, stated_title
from service_api.subgraph.entities import ENTITIES

T = TypeVar("T")
MOST_LOST: Final = 100
MOST_ROWS: Final = 1_000
"""Rows of a list that a page counts or a feed reads."""
Condition = ColumnElement[bool]
Order = UnaryExpression[Any]


@dataclass(frozen=True, slots=True)
class SubmissionRow:
    """A Solver's active Submission; ``lost_since`` where the storage has its sealed bytes no longer."""

    bounty_id: BountyId
    solver_address: Address
    submission_commitment: Bytes32
    lost_since: UnixSeconds | None
    tx_hash: Bytes32
    time: UnixSeconds


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """A Guardian's latest Verdict."""

    bounty_id: BountyId
    guardian_address: Address
    kind: VerdictKind
    solver_address: Address | None
    submission_commitment: Bytes32 | None
    report_commitment: Bytes32
    tx_hash: Bytes32
    time: UnixSeconds


@dataclass(frozen=True, slots=True)
class ReplacementRow:
    """A Verdict in the place of an earlier one of the same Guardian."""

    bounty_id: BountyId
    guardian_address: Address
    kind: VerdictKind
    solver_address: Address | None
    replaced_kind: VerdictKind
    replaced_solver_address: Address | None
    tx_hash: Bytes32
    time: UnixSeconds


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """An amount that was pulled."""

    bounty_id: BountyId
    kind: AmountKind
    recipient: Address
    amount: TokenAmount
    tx_hash: Bytes32
    time: UnixSeconds


@dataclass(frozen=True, slots=True)
class BountyRow:
    """A bounty, how it ended where it has, and its title."""

    bounty_id: BountyId
    status: BountyStatus
    poster_address: Address
    escrow_amount: TokenAmount
    protocol_fee: TokenAmount
    guardian_fee: TokenAmount
    submission_deadline: UnixSeconds
    reveal_at: UnixSeconds
    judging_deadline: UnixSeconds
    outcome: Outcome | None
    winner_solver_address: Address | None
    protocol_fee_recipient: Address
    refund: TokenAmount | None
    """The Poster's amount; like the next one by the Hub's own figures, and None while the bounty is open."""
    guardian_fee_each: TokenAmount | None
    """The reward of each Guardian with a recorded Verdict."""
    settled_at: UnixSeconds | None
    """The time of the transaction that ended it."""
    tx_hash: Bytes32
    time: UnixSeconds
    title: Title


@dataclass(frozen=True, slots=True)
class DecidedRow:
    """A bounty as far as the conduct of its Guardians is counted."""

    bounty_id: BountyId
    roster_version: int
    reveal_at: UnixSeconds
    settlement_reason: SettlementReason
    time: UnixSeconds


@dataclass(frozen=True, slots=True)
class MemberRow:
    """One Guardian of a roster version."""

    version: int
    guardian_address: Address


@dataclass(frozen=True, slots=True)
class RosterRow:
    """A published roster version."""

    version: int
    quorum: int
    time: UnixSeconds
    tx_hash: Bytes32


BOUNTY: Final = ENTITIES["Bounty"].rows.c
SUBMISSION: Final = ENTITIES["Submission"].rows.c
VERDICT: Final = ENTITIES["Verdict"].rows.c
REPLACEMENT: Final = ENTITIES["VerdictReplacement"].rows.c
CLAIM: Final = ENTITIES["Claim"].rows.c
ROSTER: Final = ENTITIES["GuardianRoster"].rows.c
MEMBER: Final = ENTITIES["RosterMember"].rows.c
IS_DECIDED: Final = BOUNTY.final_id.is_not(None)
IS_LATEST: Final = REPLACEMENT.replaced_again_time.is_(None)
"""Of the Verdicts that replaced another, the last one of each Guardian."""
_ROWS: Final[Mapping[type, Subquery]] = {
    SubmissionRow: ENTITIES["Submission"].rows,
    VerdictRow: ENTITIES["Verdict"].rows,
    ReplacementRow: ENTITIES["VerdictReplacement"].rows,
    ClaimRow: ENTITIES["Claim"].rows,
    BountyRow: ENTITIES["Bounty"].rows,
    DecidedRow: ENTITIES["Bounty"].rows,
    MemberRow: ENTITIES["RosterMember"].rows,
    RosterRow: ENTITIES["GuardianRoster"].rows,
}


def read_rows(
    connection: Connection, shape: type[T], *conditions: Condition, most: int, order: Order | None = None
) -> tuple[T, ...]:
    """Return the rows of a shape, the newest first or in another order, at most ``most``."""
    found = select(*(_ROWS[shape].c[name] for name in _READERS[shape]))
    return tuple(_made(shape, row) for row in connection.execute(_ordered(shape, found, conditions, order, most)))


def read_lost(connection: Connection, of: Condition) -> tuple[SubmissionRow, ...]:
    """Return the Submissions of a bounty or a Solver whose sealed bytes the storage has lost."""
    return read_rows(connection, SubmissionRow, of, SUBMISSION.lost_since.is_not(None), most=MOST_LOST)


def read_bounties(
    connection: Connection, *conditions: Condition, most: int, order: Order | None = None
) -> tuple[BountyRow, ...]:
    """Return bounties with their titles, the newest first or in another order, at most ``most``."""
    rows = connection.execute(_ordered(BountyRow, _bounties(), conditions, order, most))
    return tuple(_made(BountyRow, row, title=_title_of(row)) for row in rows)


def read_bounties_by_id(connection: Connection, ids: Collection[BountyId]) -> Mapping[BountyId, BountyRow]:
    """Return the bounties with these numbers, looked up one by one."""
    if not ids:
        return {}
    wanted = func.unnest(literal(sorted(ids), ARRAY(BigInteger))).table_valued("number").render_derived("wanted")
    one = _bounties().where(BOUNTY.bounty_id == wanted.c.number).limit(1).lateral("one")
    rows = connection.execute(select(one).select_from(wanted.join(one, true())))
    return {row.bounty_id: _made(BountyRow, row, title=_title_of(row)) for row in rows}


def _bounties() -> Select[Any]:
    """Select the columns of a bounty with its title. The texts are looked up row by row: with a join, the database
    would read those of all bounties to get a few hundred.
    """
    names = [name for name in _READERS[BountyRow] if name != "title"]
    texts = app.challenge_summaries.c
    title = select(func.json_build_array(texts.title, texts.summary, texts.tags))
    title = title.where(texts.spec_commitment == BOUNTY.spec_commitment)
    notice = page_notice(BOUNTY.spec_commitment, BOUNTY.poster_address)
    columns = (BOUNTY[name] for name in names)
    return select(*columns, title.scalar_subquery().label("title"), notice.label("notice"))


def _title_of(row: Any) -> Title:
    title, summary, tags = row.title or (None, None, ())
    return stated_title(title, summary, tags, withheld_of(row.notice))


@dataclass(frozen=True, slots=True)
class RecordedVerdict:
    """A recorded Verdict with the bytes that are kept of its document, and why these are not shown."""

    verdict: VerdictRow
    content: bytes | None
    withheld: Any


def read_written_verdicts(connection: Connection, bounty_id: BountyId) -> tuple[RecordedVerdict, ...]:
    """Return the latest Verdict of each Guardian of a bounty, with its document."""
    kept = app.written_verdicts
    notice = verdict_notice(VERDICT.report_commitment, VERDICT.guardian_address).label("notice")
    found = select(*(VERDICT[name] for name in _READERS[VerdictRow]), kept.c.content, notice)
    found = found.outerjoin(kept, kept.c.report_commitment == VERDICT.report_commitment)
    rows = connection.execute(found.where(VERDICT.bounty_id == bounty_id))
    return tuple(
        RecordedVerdict(
            _made(VerdictRow, row), None if row.content is None else bytes(row.content), withheld_of(row.notice)
        )
        for row in rows
    )


def read_replacements(connection: Connection, ids: Collection[BountyId], most: int = 100) -> tuple[ReplacementRow, ...]:
    """Return the Verdicts of these bounties that replaced earlier ones: the latest of each Guardian, newest first."""
    if not ids:
        return ()
    return read_rows(connection, ReplacementRow, REPLACEMENT.bounty_id.in_(ids), IS_LATEST, most=most)


def _ordered(
    shape: type, found: Select[Any], conditions: tuple[Condition, ...], order: Order | None, most: int
) -> Select[Any]:
    c = _ROWS[shape].c
    first = c.block_number.desc() if order is None else order
    return found.where(*conditions).order_by(first, c.id).limit(most)


def _made(shape: type[T], row: Any, **more: object) -> T:
    values = {name: read(getattr(row, name)) for name, read in _READERS[shape].items() if name not in more}
    return shape(**values, **more)


def _reader(hint: Any) -> Callable[[Any], object]:
    (kind, *_) = get_args(hint) or (hint,)
    if kind not in _KINDS:
        return lambda value: value
    return lambda value: None if value is None else _KINDS[kind](value)


_KINDS: Final[Mapping[Any, Callable[[Any], object]]] = {
    TokenAmount: int,
    BountyStatus: BountyStatus,
    Outcome: Outcome,
    SettlementReason: SettlementReason,
    VerdictKind: VerdictKind,
    AmountKind: AmountKind,
}
"""How the value of a field's column is read, where it is not the value itself."""
_READERS: Final = {shape: {name: _reader(hint) for name, hint in get_type_hints(shape).items()} for shape in _ROWS}
