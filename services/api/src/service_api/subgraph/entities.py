"""The entities of the GraphQL endpoint: for each, the rows it shows, whose columns are its fields.

Field names are the public snake_case ones; amounts are decimal strings, times and block numbers integers.
``submissions`` and ``verdicts`` show the current ones (a Solver's active Submission, a Guardian's latest Verdict).
Whether a field may be null follows from what its column is made of.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from bounty_protocol.domain.lifecycle import BountyStatus, HubEnum, Outcome, SettlementReason, VerdictKind
from bounty_protocol.domain.money import AmountKind
from service_common.db import hub_index as t
from service_common.db.app import challenge_summaries, defects
from service_common.db.hub_reads import former_verdicts
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Case,
    Column,
    ColumnElement,
    FromClause,
    Integer,
    Join,
    Numeric,
    ScalarSelect,
    Select,
    Subquery,
    Table,
    Text,
    and_,
    case,
    cast,
    exists,
    func,
    literal,
    select,
    true,
    tuple_,
)
from sqlalchemy.sql.base import ReadOnlyColumnCollection
from sqlalchemy.sql.functions import FunctionElement

from service_api.bounties.matching import HAS_PAGE
from service_api.moderation.texts import page_reason, page_since

AMOUNT, NUMBER, TEXT, TEXTS = "BigInt", "Integer", "String", "[String!]"
_NO_FIELDS: Final = {"id", "log_index", "open_id", "final_id", "settled_block", "outcome_number", "reason_number"}
"""Columns of rows that are no fields."""


NOTES: Final[Mapping[str, str]] = {
    "id": "Names this row in its list, and in the field of a single one.",
    "bounty_id": "The bounty's number, a decimal string: it may be more than a number of JavaScript holds.",
    "block_number": "The block of the event.",
    "block_hash": "The hash of that block.",
    "tx_hash": "The transaction of the event.",
    "time": "The time of that block, in seconds.",
    "poster_address": "The account that created and funded it.",
    "spec_commitment": "The keccak256 digest of the page's bytes.",
    "escrow_amount": "All that the Poster funded, in base units of the token.",
    "award_amount": "What a winner gets: the escrow without both fees.",
    "submission_deadline": "Submissions count before this moment, in seconds.",
    "reveal_at": "From when on Submissions can be opened, in seconds.",
    "judging_deadline": "Verdicts count before this moment, in seconds.",
    "protocol_fee": "Its part for the protocol, in base units.",
    "guardian_fee": "Its part for all Guardians with a Verdict together, in base units.",
    "protocol_fee_recipient": "The account that the protocol's fee is for.",
    "authorization_nonce": "Of the token's authorization by which it was funded.",
    "outcome": "How it ended; null while it is open.",
    "settlement_reason": "Why it ended so.",
    "winner_solver_address": "The account that the award is for.",
    "winner_submission_commitment": "The commitment of the winning Submission.",
    "refund": "What the Poster gets back, in base units.",
    "guardian_fee_each": "What each Guardian with a Verdict gets, in base units; null where there is none.",
    "settled_at": "The time of the transaction that ended it, in seconds.",
    "settlement_tx_hash": "The transaction that ended it.",
    "title": "The page's, a stranger's text; null where no page is here that hashes to the commitment.",
    "summary": "The page's, a stranger's text; null where no page is here that hashes to the commitment.",
    "tags": "The page's; null where no page is here that hashes to the commitment.",
    "withheld_reason": "Why this service's operator does not show the page, title, summary and tags; null where they "
    "are shown.",
    "withheld_since": "Since when they are not shown, in seconds.",
    "solver_address": "The Solver's account.",
    "submission_commitment": "The commitment of the Submission.",
    "lost_since": "Since when the storage is known to have lost the sealed bytes, in seconds; null where it has them.",
    "guardian_address": "The Guardian's account.",
    "kind": "One of few values.",
    "report_commitment": "The keccak256 digest of the written Verdict.",
    "replaced_kind": "Of the Verdict before it.",
    "replaced_solver_address": "Of the Submission that the Verdict before it awarded.",
    "replaced_submission_commitment": "Of the Submission that the Verdict before it awarded.",
    "replaced_report_commitment": "The keccak256 digest of the written Verdict before it.",
    "replaced_tx_hash": "The transaction of the Verdict before it.",
    "replaced_time": "The time of the block of the Verdict before it, in seconds.",
    "replaced_again_time": "The time of the block of the Verdict that replaced this one in turn, in seconds; null of "
    "the Guardian's latest, so one row of each Guardian has none.",
    "version": "Versions count from 1.",
    "guardian_roster_hash": "Over the members and their keys, as the Hub has it.",
    "quorum": "How many agreeing Verdicts decide.",
    "effective_from": "From when on it is current, in seconds, unless the next one was published before.",
    "position": "The member's place, from 0.",
    "encryption_public_key": "What Submissions are sealed to for this Guardian.",
    "recipient": "The account that was paid.",
    "amount": "In base units of the token.",
    "delivery_public_key": "What keys of winning work are wrapped for.",
    "bounty": "The bounty that it belongs to, with its plain fields.",
    "submissions": "The active Submissions.",
    "verdicts": "The latest Verdict of each Guardian.",
    "claims": "What was pulled of the escrow.",
    "members": "The Guardians of this version.",
}
"""The meaning of a field, wherever it is; ``Entity.notes`` has the exceptions."""


@dataclass(frozen=True, slots=True)
class Entity:
    """One GraphQL type, whose fields are the columns of ``rows``.

    ``children`` maps a list field to an entity and the column both share, ``parent`` is the field of the one row that
    this one belongs to. ``key`` names the columns of ``rows`` that its ``id`` is made of. ``conditions`` has another
    form of "a field has this value", of columns for which the database has an index or statistics. ``values`` are the
    fields with few values, ``about`` and ``notes`` the descriptions of the type and of its own fields.
    """

    name: str
    plural: str
    about: str
    rows: Subquery
    key: tuple[str, ...]
    children: dict[str, tuple[str, str]] = field(default_factory=dict)
    parent: tuple[str, str, str] | None = None
    """The field, the entity and the column both share."""
    conditions: dict[tuple[str, str], ColumnElement[bool]] = field(default_factory=dict)
    values: Mapping[str, type[StrEnum]] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    fields: dict[str, str] = field(init=False)
    """The type of each, by its column's."""
    nullable: frozenset[str] = field(init=False)
    """Those that a row may lack."""

    def __post_init__(self) -> None:
        shown = [c for c in self.rows.c if c.name not in _NO_FIELDS]
        object.__setattr__(self, "fields", {column.name: _type_of(column) for column in shown})
        query: Any = self.rows.element
        outer = frozenset(table for joined in query.get_final_froms() for table in _outer_tables(joined))
        lacking = {str(c.name) for c in query.selected_columns if _may_be_null(c, outer)}
        object.__setattr__(self, "nullable", frozenset(lacking & set(self.fields)))

    def note(self, name: str) -> str:
        """The description of a field."""
        return self.notes.get(name) or NOTES[name]


def _type_of(column: ColumnElement[object]) -> str:
    if isinstance(column.type, ARRAY):
        return TEXTS
    if column.key == "bounty_id":  # 63 bits are more than a number of JavaScript holds
        return TEXT
    if isinstance(column.type, Numeric):
        return AMOUNT
    return NUMBER if isinstance(column.type, Integer) else TEXT


def _outer_tables(joined: FromClause) -> Iterator[FromClause]:
    """The tables of a join that need not have a row for each of its rows."""
    if isinstance(joined, Join):
        if joined.isouter:
            yield joined.right
        yield from _outer_tables(joined.left)


def _may_be_null(column: Any, outer: frozenset[FromClause]) -> bool:
    """Whether an expression can have no value; of a choice by a value, every value of the Hub's is named."""
    if isinstance(column, Column):
        return bool(column.nullable) or column.table in outer
    if isinstance(column, FunctionElement | ScalarSelect):
        return True
    if isinstance(column, Case):
        if column.value is not None:
            return _may_be_null(column.value, outer)
        results = (column.else_, *(result for _, result in column.whens))
        return any(each is None or _may_be_null(each, outer) for each in results)
    return any(_may_be_null(each, outer) for each in column.get_children())


def _id(*columns: ColumnElement[int] | ColumnElement[str]) -> ColumnElement[str]:
    joined: ColumnElement[str] = cast(columns[0], Text)
    for column in columns[1:]:
        joined = joined + "-" + cast(column, Text)
    return joined.label("id")


def _named(column: ColumnElement[int], names: type[HubEnum]) -> ColumnElement[str | None]:
    return case({member.number: literal(member.value) for member in names}, value=column)


def _bounties() -> Select[tuple[object, ...]]:
    b, f, is_open, texts = t.bounties.c, t.finalizations.c, t.open_bounties.c, challenge_summaries.c
    return select(
        _id(b.bounty_id),
        b.bounty_id,
        case((f.bounty_id.is_(None), literal("open")), else_=literal("final")).label("status"),
        b.poster.label("poster_address"),
        b.spec_commitment,
        b.guardian_roster_hash,
        b.roster_version,
        b.escrow_amount,
        (b.escrow_amount - b.protocol_fee - b.guardian_fee).label("award_amount"),
        b.submission_deadline,
        b.reveal_at,
        b.judging_deadline,
        b.protocol_fee,
        b.guardian_fee,
        b.protocol_fee_recipient,
        b.authorization_nonce,
        _named(f.outcome, Outcome).label("outcome"),
        _named(f.reason, SettlementReason).label("settlement_reason"),
        case((f.outcome == Outcome.AWARDED.number, f.winner)).label("winner_solver_address"),
        case((f.outcome == Outcome.AWARDED.number, f.submission_commitment)).label("winner_submission_commitment"),
        f.refund,
        case((f.guardian_fee_count > 0, f.guardian_fee_each)).label("guardian_fee_each"),
        f.time.label("settled_at"),
        f.tx_hash.label("settlement_tx_hash"),
        texts.title,
        texts.summary,
        texts.tags,
        page_reason(b.spec_commitment, b.poster).label("withheld_reason"),
        page_since(b.spec_commitment, b.poster).label("withheld_since"),
        b.block_number,
        b.block_hash,
        b.tx_hash,
        b.time,
        is_open.bounty_id.label("open_id"),
        f.bounty_id.label("final_id"),
        f.block_number.label("settled_block"),
        f.outcome.label("outcome_number"),
        f.reason.label("reason_number"),
    ).select_from(
        t.bounties.outerjoin(t.finalizations, f.bounty_id == b.bounty_id)
        .outerjoin(t.open_bounties, is_open.bounty_id == b.bounty_id)
        .outerjoin(challenge_summaries, HAS_PAGE)
    )


def _submissions() -> Select[tuple[object, ...]]:
    s, d = t.submissions.c, defects.c
    lost = (d.submission_commitment == s.submission_commitment) & (d.bounty_id == s.bounty_id) & (d.solver == s.solver)
    since = select(func.min(func.date_part("epoch", d.found_at))).where(lost).scalar_subquery()
    return select(
        _id(s.bounty_id, s.solver),
        s.bounty_id,
        s.solver.label("solver_address"),
        s.submission_commitment,
        func.floor(since, type_=BigInteger).cast(BigInteger).label("lost_since"),
        s.block_number,
        s.block_hash,
        s.tx_hash,
        s.time,
    ).where(_is_newest(t.submissions, "solver"))


def _verdicts() -> Select[tuple[object, ...]]:
    v = t.verdicts.c
    return select(
        _id(v.bounty_id, v.guardian),
        v.bounty_id,
        v.guardian.label("guardian_address"),
        _named(v.kind, VerdictKind).label("kind"),
        case((v.kind == VerdictKind.AWARDED.number, v.solver)).label("solver_address"),
        case((v.kind == VerdictKind.AWARDED.number, v.submission_commitment)).label("submission_commitment"),
        v.report_commitment,
        v.block_number,
        v.block_hash,
        v.tx_hash,
        v.time,
    ).where(_is_newest(t.verdicts, "guardian"))


def _verdict_replacements() -> Select[tuple[object, ...]]:
    v, former = t.verdicts.c, former_verdicts(first_other=True)
    was = former.c
    return select(
        _id(v.block_number, v.log_index),
        v.bounty_id,
        v.guardian.label("guardian_address"),
        _named(v.kind, VerdictKind).label("kind"),
        case((v.kind == VerdictKind.AWARDED.number, v.solver)).label("solver_address"),
        case((v.kind == VerdictKind.AWARDED.number, v.submission_commitment)).label("submission_commitment"),
        v.report_commitment,
        _named(was.kind, VerdictKind).label("replaced_kind"),
        case((was.kind == VerdictKind.AWARDED.number, was.solver)).label("replaced_solver_address"),
        case((was.kind == VerdictKind.AWARDED.number, was.submission_commitment)).label(
            "replaced_submission_commitment"
        ),
        was.report_commitment.label("replaced_report_commitment"),
        was.tx_hash.label("replaced_tx_hash"),
        was.time.label("replaced_time"),
        _time_of_next_verdict().label("replaced_again_time"),
        v.block_number,
        v.log_index,
        v.block_hash,
        v.tx_hash,
        v.time,
    ).select_from(t.verdicts.join(former, true()))


def _time_of_next_verdict() -> ScalarSelect[int]:
    """Of a row of ``verdicts``: when its Guardian recorded another one for the bounty; null of the newest."""
    later, is_later = _later(t.verdicts, "guardian")
    found = select(later.time).where(is_later).correlate(t.verdicts)
    return found.order_by(later.block_number, later.log_index).limit(1).scalar_subquery()


def _is_newest(table: Table, account: str) -> ColumnElement[bool]:
    """Whether a row is the newest of its account for its bounty. Any order and condition can be put around this, and
    the database reads no further than they ask; not so around DISTINCT ON."""
    _, is_later = _later(table, account)
    return ~exists().where(is_later)


def _later(table: Table, account: str) -> tuple[ReadOnlyColumnCollection[str, Column[Any]], ColumnElement[bool]]:
    """Of a row: the columns of the later ones of its account for its bounty, and which these are."""
    c, later = table.c, table.alias("later").c
    of_the_same = and_(later.bounty_id == c.bounty_id, later[account] == c[account])
    is_later = tuple_(later.block_number, later.log_index) > tuple_(c.block_number, c.log_index)
    return later, and_(of_the_same, is_later)


def _rosters() -> Select[tuple[object, ...]]:
    r = t.rosters.c
    return select(
        _id(r.version),
        r.version,
        r.guardian_roster_hash,
        r.quorum,
        r.effective_from,
        r.block_number,
        r.block_hash,
        r.tx_hash,
        r.time,
    )


def _members() -> Select[tuple[object, ...]]:
    m = t.roster_members.c
    return select(
        _id(m.version, m.position),
        m.version,
        m.position,
        m.guardian.label("guardian_address"),
        m.encryption_public_key,
        m.block_number,
        m.block_hash,
        m.tx_hash,
        m.time,
    )


def _claims() -> Select[tuple[object, ...]]:
    c = t.claims.c
    return select(
        _id(c.block_number, c.log_index),
        c.bounty_id,
        c.kind,
        c.recipient,
        c.amount,
        c.block_number,
        c.log_index,
        c.block_hash,
        c.tx_hash,
        c.time,
    )


def _delivery_keys() -> Select[tuple[object, ...]]:
    k = t.delivery_keys.c
    return select(
        _id(k.block_number, k.log_index),
        k.key.label("delivery_public_key"),
        k.effective_from,
        k.block_number,
        k.log_index,
        k.block_hash,
        k.tx_hash,
        k.time,
    )


def _delivery_key_withdrawals() -> Select[tuple[object, ...]]:
    w = t.delivery_key_withdrawals.c
    return select(
        _id(w.block_number, w.log_index),
        w.key.label("delivery_public_key"),
        w.block_number,
        w.log_index,
        w.block_hash,
        w.tx_hash,
        w.time,
    )


def _by_number(
    name: str, column: ColumnElement[int], names: type[HubEnum]
) -> dict[tuple[str, str], ColumnElement[bool]]:
    return {(name, member.value): column == member.number for member in names}


_BOUNTY: Final = _bounties().subquery("bounty")
_OF_BOUNTY: Final = ("bounty", "Bounty", "bounty_id")
ENTITIES: Final = {
    entity.name: entity
    for entity in (
        Entity(
            "Bounty",
            "bounties",
            "One bounty: its terms, which never change, and how it ended where it has.",
            _BOUNTY,
            ("bounty_id",),
            {
                "submissions": ("Submission", "bounty_id"),
                "verdicts": ("Verdict", "bounty_id"),
                "claims": ("Claim", "bounty_id"),
            },
            None,
            {
                ("status", "open"): _BOUNTY.c.open_id.is_not(None),
                ("status", "final"): _BOUNTY.c.final_id.is_not(None),
                **_by_number("outcome", _BOUNTY.c.outcome_number, Outcome),
                **_by_number("settlement_reason", _BOUNTY.c.reason_number, SettlementReason),
            },
            {"status": BountyStatus, "outcome": Outcome, "settlement_reason": SettlementReason},
            {
                "status": "open, or final from the transaction that ended it, whatever the reason.",
                "settlement_reason": "judged: a quorum decided the outcome. no_submissions, guardians_silent and "
                "quorum_not_reached end in no_valid_submission, which no quorum decided.",
                "guardian_roster_hash": "Of the roster that the bounty pins.",
                "roster_version": "The version of the roster that the bounty pins.",
            },
        ),
        Entity(
            "Submission",
            "submissions",
            "A Solver's active Submission, the newest of that account.",
            _submissions().subquery("submission"),
            ("bounty_id", "solver_address"),
            parent=_OF_BOUNTY,
        ),
        Entity(
            "Verdict",
            "verdicts",
            "A Guardian's latest Verdict on a bounty; a later one replaces it until the bounty is final.",
            _verdicts().subquery("verdict"),
            ("bounty_id", "guardian_address"),
            parent=_OF_BOUNTY,
            values={"kind": VerdictKind},
            notes={
                "kind": "A Verdict of awarded names the outcome where that is the award of this Submission; one of "
                "no_valid_submission wherever that is the outcome, also where no quorum was reached.",
                "solver_address": "Of the Submission that is to be awarded.",
                "submission_commitment": "Of the Submission that is to be awarded.",
            },
        ),
        Entity(
            "VerdictReplacement",
            "verdict_replacements",
            "A Verdict that the Guardian recorded in the place of an earlier one on the same bounty. A thief of the "
            "account's key can record one, too. What it replaced is the Guardian's latest earlier Verdict that decided "
            "otherwise; where none did, the one before.",
            _verdict_replacements().subquery("verdict_replacement"),
            ("block_number", "log_index"),
            parent=_OF_BOUNTY,
            values={"kind": VerdictKind, "replaced_kind": VerdictKind},
            notes={
                "kind": "Of the new Verdict.",
                "solver_address": "Of the Submission that the new Verdict awards.",
                "submission_commitment": "Of the Submission that the new Verdict awards.",
            },
        ),
        Entity(
            "GuardianRoster",
            "guardian_rosters",
            "A published version of the roster. A bounty pins the one that is current when it is created.",
            _rosters().subquery("roster"),
            ("version",),
            {"members": ("RosterMember", "version")},
        ),
        Entity(
            "RosterMember",
            "roster_members",
            "One Guardian of a version of the roster.",
            _members().subquery("member"),
            ("version", "position"),
        ),
        Entity(
            "Claim",
            "claims",
            "An amount that an entitled account pulled.",
            _claims().subquery("claim"),
            ("block_number", "log_index"),
            parent=_OF_BOUNTY,
            values={"kind": AmountKind},
            notes={"kind": "Whose entitlement it was."},
        ),
        Entity(
            "DeliveryKey",
            "delivery_keys",
            "A published public key of the delivery service.",
            _delivery_keys().subquery("delivery_key"),
            ("block_number", "log_index"),
        ),
        Entity(
            "DeliveryKeyWithdrawal",
            "delivery_key_withdrawals",
            "A public key of the delivery service that was withdrawn at once.",
            _delivery_key_withdrawals().subquery("delivery_key_withdrawal"),
            ("block_number", "log_index"),
        ),
    )
}
