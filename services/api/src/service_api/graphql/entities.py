"""The entities of the GraphQL endpoint: for each, the rows it shows and the type of every field.

Field names are the public snake_case ones; amounts are decimal strings, times and block numbers integers.
``submissions`` and ``verdicts`` show the current ones (a Solver's active Submission, a Guardian's latest Verdict).
"""

from dataclasses import dataclass
from typing import Final

from service_common.db import hub_index as t
from service_common.db.app import challenge_summaries
from service_common.domain.lifecycle import HubEnum, Outcome, SettlementReason, VerdictKind
from sqlalchemy import ColumnElement, Select, Subquery, Text, case, cast, func, literal, select
from sqlalchemy.dialects.postgresql import distinct_on

AMOUNT, NUMBER, TEXT, FLAG = "BigInt", "Integer", "String", "Boolean"
ORIGIN: Final = {"block_number": NUMBER, "block_hash": TEXT, "tx_hash": TEXT, "time": NUMBER}


@dataclass(frozen=True, slots=True)
class Entity:
    """One GraphQL type. ``children`` maps a list field to an entity and the column both share."""

    name: str
    plural: str
    rows: Subquery
    fields: dict[str, str]
    children: dict[str, tuple[str, str]]


def _id(*columns: ColumnElement[int] | ColumnElement[str]) -> ColumnElement[str]:
    joined: ColumnElement[str] = cast(columns[0], Text)
    for column in columns[1:]:
        joined = joined + "-" + cast(column, Text)
    return joined.label("id")


def _named(column: ColumnElement[int], names: type[HubEnum]) -> ColumnElement[str | None]:
    return case({member.number: literal(member.value) for member in names}, value=column)


def _bounties() -> Select[tuple[object, ...]]:
    b, f, texts = t.bounties.c, t.finalizations.c, challenge_summaries.c
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
        b.authorization_nonce,
        _named(f.outcome, Outcome).label("outcome"),
        _named(f.reason, SettlementReason).label("settlement_reason"),
        case((f.outcome == Outcome.AWARDED.number, f.winner)).label("winner_solver_address"),
        case((f.outcome == Outcome.AWARDED.number, f.submission_commitment)).label("winner_submission_commitment"),
        f.time.label("settled_at"),
        f.tx_hash.label("settlement_tx_hash"),
        texts.title,
        texts.summary,
        b.block_number,
        b.block_hash,
        b.tx_hash,
        b.time,
    ).select_from(
        t.bounties.outerjoin(t.finalizations, f.bounty_id == b.bounty_id).outerjoin(
            challenge_summaries, texts.spec_commitment == b.spec_commitment
        )
    )


def _submissions() -> Select[tuple[object, ...]]:
    s = t.submissions.c
    return (
        select(
            _id(s.bounty_id, s.solver),
            s.bounty_id,
            s.solver.label("solver_address"),
            s.submission_commitment,
            s.block_number,
            s.block_hash,
            s.tx_hash,
            s.time,
        )
        .ext(distinct_on(s.bounty_id, s.solver))
        .order_by(s.bounty_id, s.solver, s.block_number.desc(), s.log_index.desc())
    )


def _verdicts() -> Select[tuple[object, ...]]:
    v = t.verdicts.c
    return (
        select(
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
        )
        .ext(distinct_on(v.bounty_id, v.guardian))
        .order_by(v.bounty_id, v.guardian, v.block_number.desc(), v.log_index.desc())
    )


def _rosters() -> Select[tuple[object, ...]]:
    r = t.rosters.c
    return select(
        _id(r.version),
        r.version,
        r.guardian_roster_hash,
        r.quorum,
        func.coalesce(r.effective_from, r.time).label("effective_from"),
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
        c.block_hash,
        c.tx_hash,
        c.time,
    )


def _delivery_keys() -> Select[tuple[object, ...]]:
    k = t.delivery_keys.c
    return select(
        _id(k.block_number, k.log_index),
        k.key.label("delivery_public_key"),
        func.coalesce(k.effective_from, k.time).label("effective_from"),
        k.block_number,
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
        w.block_hash,
        w.tx_hash,
        w.time,
    )


ENTITIES: Final = {
    entity.name: entity
    for entity in (
        Entity(
            "Bounty",
            "bounties",
            _bounties().subquery("bounty"),
            {
                "bounty_id": TEXT,
                "status": TEXT,
                "poster_address": TEXT,
                "spec_commitment": TEXT,
                "guardian_roster_hash": TEXT,
                "roster_version": NUMBER,
                "escrow_amount": AMOUNT,
                "award_amount": AMOUNT,
                "submission_deadline": NUMBER,
                "reveal_at": NUMBER,
                "judging_deadline": NUMBER,
                "protocol_fee": AMOUNT,
                "guardian_fee": AMOUNT,
                "authorization_nonce": TEXT,
                "outcome": TEXT,
                "settlement_reason": TEXT,
                "winner_solver_address": TEXT,
                "winner_submission_commitment": TEXT,
                "settled_at": NUMBER,
                "settlement_tx_hash": TEXT,
                "title": TEXT,
                "summary": TEXT,
                **ORIGIN,
            },
            {
                "submissions": ("Submission", "bounty_id"),
                "verdicts": ("Verdict", "bounty_id"),
                "claims": ("Claim", "bounty_id"),
            },
        ),
        Entity(
            "Submission",
            "submissions",
            _submissions().subquery("submission"),
            {"bounty_id": TEXT, "solver_address": TEXT, "submission_commitment": TEXT, **ORIGIN},
            {},
        ),
        Entity(
            "Verdict",
            "verdicts",
            _verdicts().subquery("verdict"),
            {
                "bounty_id": TEXT,
                "guardian_address": TEXT,
                "kind": TEXT,
                "solver_address": TEXT,
                "submission_commitment": TEXT,
                "report_commitment": TEXT,
                **ORIGIN,
            },
            {},
        ),
        Entity(
            "GuardianRoster",
            "guardian_rosters",
            _rosters().subquery("roster"),
            {"version": NUMBER, "guardian_roster_hash": TEXT, "quorum": NUMBER, "effective_from": NUMBER, **ORIGIN},
            {"members": ("RosterMember", "version")},
        ),
        Entity(
            "RosterMember",
            "roster_members",
            _members().subquery("member"),
            {
                "version": NUMBER,
                "position": NUMBER,
                "guardian_address": TEXT,
                "encryption_public_key": TEXT,
                **ORIGIN,
            },
            {},
        ),
        Entity(
            "Claim",
            "claims",
            _claims().subquery("claim"),
            {"bounty_id": TEXT, "kind": TEXT, "recipient": TEXT, "amount": AMOUNT, **ORIGIN},
            {},
        ),
        Entity(
            "DeliveryKey",
            "delivery_keys",
            _delivery_keys().subquery("delivery_key"),
            {"delivery_public_key": TEXT, "effective_from": NUMBER, **ORIGIN},
            {},
        ),
        Entity(
            "DeliveryKeyWithdrawal",
            "delivery_key_withdrawals",
            _delivery_key_withdrawals().subquery("delivery_key_withdrawal"),
            {"delivery_public_key": TEXT, **ORIGIN},
            {},
        ),
    )
}
