"""The rows of the GraphQL endpoint's types; a column has the name of its field in ``schema.graphql``.

Amounts are decimal strings, times and block numbers integers. ``submissions`` and ``verdicts`` show the current ones (a
Solver's active Submission, a Guardian's latest Verdict).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bounty_protocol.domain.lifecycle.states import HubEnum, Outcome, SettlementReason, VerdictKind
from service_common.db import hub_index as t
from service_common.db.app import challenge_summaries, defects
from service_common.db.hub_reads import former_verdicts, is_newest
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    ScalarSelect,
    Select,
    Subquery,
    Table,
    Text,
    case,
    cast,
    func,
    literal,
    select,
    true,
    tuple_,
)
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from service_api.bounties.matching import HAS_PAGE
from service_api.moderation.texts import page_notice

_OF_LOG: Final = ("block_number", "log_index")


@dataclass(frozen=True, slots=True)
class Entity:
    """A type of ``schema.graphql`` whose fields are columns of ``rows``.

    ``key`` names the columns that its ``id`` is made of, ``shared`` the one that it has in common with the rows above
    and below it. ``conditions`` has another form of "a field has this value", of columns for which the database has an
    index or statistics.
    """

    plural: str
    rows: Subquery
    key: tuple[str, ...]
    shared: str = "bounty_id"
    conditions: Mapping[tuple[str, str], ColumnElement[bool]] = field(default_factory=dict)


def _shown(
    table: Table, key: tuple[str, ...], *columns: ColumnElement[Any], source: FromClause | None = None
) -> Select[Any]:
    """Select columns of a table's rows, with the ``id`` made from its key, and the position in the chain."""
    c = table.c
    identity: ColumnElement[Any] = cast(c[key[0]], Text)
    for name in key[1:]:
        identity = identity + "-" + cast(c[name], Text)
    place = (c.block_number, c.log_index, c.block_hash, c.tx_hash, c.time)
    return select(identity.label("id"), *columns, *place).select_from(table if source is None else source)


def _named(column: ColumnElement[int], names: type[HubEnum]) -> ColumnElement[str | None]:
    return case({member.number: literal(member.value) for member in names}, value=column)


def _decision(c: ReadOnlyColumnCollection[str, Any], prefix: str = "") -> tuple[ColumnElement[Any], ...]:
    """Return what a Verdict decided."""
    is_award = c.kind == VerdictKind.AWARDED.number
    return (
        _named(c.kind, VerdictKind).label(f"{prefix}kind"),
        case((is_award, c.solver)).label(f"{prefix}solver_address"),
        case((is_award, c.submission_commitment)).label(f"{prefix}submission_commitment"),
        c.report_commitment.label(f"{prefix}report_commitment"),
    )


def _bounties() -> Select[Any]:
    b, f, is_open, texts = t.bounties.c, t.finalizations.c, t.open_bounties.c, challenge_summaries.c
    is_award, notice = f.outcome == Outcome.AWARDED.number, page_notice(b.spec_commitment, b.poster)
    return _shown(
        t.bounties,
        ("bounty_id",),
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
        case((is_award, f.winner)).label("winner_solver_address"),
        case((is_award, f.submission_commitment)).label("winner_submission_commitment"),
        f.refund,
        case((f.guardian_fee_count > 0, f.guardian_fee_each)).label("guardian_fee_each"),
        f.time.label("settled_at"),
        f.tx_hash.label("settlement_tx_hash"),
        texts.title,
        texts.summary,
        texts.tags,
        notice[0].as_string().label("withheld_reason"),
        cast(notice[1].as_string(), BigInteger).label("withheld_since"),
        is_open.bounty_id.label("open_id"),
        f.bounty_id.label("final_id"),
        f.block_number.label("settled_block"),
        f.outcome.label("outcome_number"),
        f.reason.label("reason_number"),
        source=t.bounties.outerjoin(t.finalizations, f.bounty_id == b.bounty_id)
        .outerjoin(t.open_bounties, is_open.bounty_id == b.bounty_id)
        .outerjoin(challenge_summaries, HAS_PAGE),
    )


def _submissions() -> Select[Any]:
    s, d = t.submissions.c, defects.c
    lost = (d.submission_commitment == s.submission_commitment) & (d.bounty_id == s.bounty_id) & (d.solver == s.solver)
    since = select(func.min(func.date_part("epoch", d.found_at))).where(lost).scalar_subquery()
    return _shown(
        t.submissions,
        ("bounty_id", "solver"),
        s.bounty_id,
        s.solver.label("solver_address"),
        s.submission_commitment,
        func.floor(since, type_=BigInteger).cast(BigInteger).label("lost_since"),
    ).where(is_newest(t.submissions, "solver"))


def _verdicts() -> Select[Any]:
    v = t.verdicts.c
    columns = v.bounty_id, v.guardian.label("guardian_address"), *_decision(v)
    return _shown(t.verdicts, ("bounty_id", "guardian"), *columns).where(is_newest(t.verdicts, "guardian"))


def _verdict_replacements() -> Select[Any]:
    v, former = t.verdicts.c, former_verdicts(first_other=True)
    return _shown(
        t.verdicts,
        _OF_LOG,
        v.bounty_id,
        v.guardian.label("guardian_address"),
        *_decision(v),
        *_decision(former.c, "replaced_"),
        former.c.tx_hash.label("replaced_tx_hash"),
        former.c.time.label("replaced_time"),
        _time_of_next_verdict().label("replaced_again_time"),
        source=t.verdicts.join(former, true()),
    )


def _time_of_next_verdict() -> ScalarSelect[int]:
    """Select, for a row of ``verdicts``, when its Guardian recorded the next one for the bounty; null for the
    newest.
    """
    c, later = t.verdicts.c, t.verdicts.alias("later").c
    is_later = tuple_(later.block_number, later.log_index) > tuple_(c.block_number, c.log_index)
    of_the_same = later.bounty_id == c.bounty_id, later.guardian == c.guardian
    found = select(later.time).where(*of_the_same, is_later).correlate(t.verdicts)
    return found.order_by(later.block_number, later.log_index).limit(1).scalar_subquery()


def _by_number(
    name: str, column: ColumnElement[int], names: type[HubEnum]
) -> dict[tuple[str, str], ColumnElement[bool]]:
    return {(name, member.value): column == member.number for member in names}


_R, _M, _C = t.rosters.c, t.roster_members.c, t.claims.c
_K, _W = t.delivery_keys.c, t.delivery_key_withdrawals.c
_BOUNTY: Final = _bounties().subquery("bounty")
_ROSTERS: Final = _shown(t.rosters, ("version",), _R.version, _R.guardian_roster_hash, _R.quorum, _R.effective_from)
_MEMBERS: Final = _shown(
    t.roster_members,
    ("version", "position"),
    _M.version,
    _M.position,
    _M.guardian.label("guardian_address"),
    _M.encryption_public_key,
)
_CLAIMS: Final = _shown(t.claims, _OF_LOG, _C.bounty_id, _C.kind, _C.recipient, _C.amount)
_KEYS: Final = _shown(t.delivery_keys, _OF_LOG, _K.key.label("delivery_public_key"), _K.effective_from)
_WITHDRAWALS: Final = _shown(t.delivery_key_withdrawals, _OF_LOG, _W.key.label("delivery_public_key"))
ENTITIES: Final[Mapping[str, Entity]] = {
    "Bounty": Entity(
        "bounties",
        _BOUNTY,
        ("bounty_id",),
        conditions={
            ("status", "open"): _BOUNTY.c.open_id.is_not(None),
            ("status", "final"): _BOUNTY.c.final_id.is_not(None),
            **_by_number("outcome", _BOUNTY.c.outcome_number, Outcome),
            **_by_number("settlement_reason", _BOUNTY.c.reason_number, SettlementReason),
        },
    ),
    "Submission": Entity("submissions", _submissions().subquery("submission"), ("bounty_id", "solver_address")),
    "Verdict": Entity("verdicts", _verdicts().subquery("verdict"), ("bounty_id", "guardian_address")),
    "VerdictReplacement": Entity("verdict_replacements", _verdict_replacements().subquery("replacement"), _OF_LOG),
    "GuardianRoster": Entity("guardian_rosters", _ROSTERS.subquery("roster"), ("version",), "version"),
    "RosterMember": Entity("roster_members", _MEMBERS.subquery("member"), ("version", "position"), "version"),
    "Claim": Entity("claims", _CLAIMS.subquery("claim"), _OF_LOG),
    "DeliveryKey": Entity("delivery_keys", _KEYS.subquery("delivery_key"), _OF_LOG),
    "DeliveryKeyWithdrawal": Entity("delivery_key_withdrawals", _WITHDRAWALS.subquery("withdrawal"), _OF_LOG),
}
"""By the name of each type."""
