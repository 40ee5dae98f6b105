"""An account's record, summed from the index: each role from its newest bounties, however long its history is."""

from bounty_protocol.domain.lifecycle.states import Outcome, SettlementReason
from bounty_protocol.types import Address, TokenAmount
from bounty_protocol.wire.accounts import MOST_COUNTED, AccountRecord, GuardianConduct, PosterConduct, SolverConduct
from service_common.db import hub_index as t
from sqlalchemy import ColumnElement, Connection, Subquery, and_, func, select

from service_api.bounties.matching import AWARD

_B, _F, _S, _V = t.bounties.c, t.finalizations.c, t.submissions.c, t.verdicts.c
_UNJUDGED = (SettlementReason.GUARDIANS_SILENT.number, SettlementReason.QUORUM_NOT_REACHED.number)


def account_record(connection: Connection, account: Address) -> AccountRecord:
    """Return the record of an account in the index; zeros for one that the log does not have."""
    return AccountRecord(
        account, _poster(connection, account), _solver(connection, account), _guardian(connection, account)
    )


def _ended(newest: Subquery) -> Subquery:
    """Select the bounties of a list with how each ended."""
    return (
        select(newest, _F.outcome, _F.reason, _F.winner, _F.time.label("ended_at"))
        .outerjoin(t.finalizations, _F.bounty_id == newest.c.bounty_id)
        .subquery()
    )


def _median(seconds: ColumnElement[int]) -> ColumnElement[float]:
    middle: ColumnElement[float] = func.percentile_cont(0.5).within_group(seconds)
    return middle


def _whole(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds)


def _poster(connection: Connection, account: Address) -> PosterConduct:
    newest = select(_B.bounty_id, _B.reveal_at, AWARD.label("award")).where(_B.poster == account)
    c = _ended(newest.order_by(_B.bounty_id.desc()).limit(MOST_COUNTED).subquery()).c
    is_awarded, judged = c.outcome == Outcome.AWARDED.number, c.reason == SettlementReason.JUDGED.number
    row = connection.execute(
        select(
            func.count(),
            func.count().filter(c.outcome.is_(None)),
            func.count().filter(is_awarded),
            func.count().filter(judged, ~is_awarded),
            func.count().filter(c.reason == SettlementReason.NO_SUBMISSIONS.number),
            func.count().filter(c.reason.in_(_UNJUDGED)),
            func.coalesce(func.sum(c.award).filter(is_awarded), 0),
            _median(func.greatest(0, c.ended_at - c.reveal_at)).filter(judged),
        )
    ).one()
    return PosterConduct(
        posted=row[0],
        open=row[1],
        awarded=row[2],
        refused=row[3],
        without_submissions=row[4],
        unjudged=row[5],
        awards=TokenAmount(int(row[6])),
        median_seconds_to_outcome=_whole(row[7]),
    )


def _solver(connection: Connection, account: Address) -> SolverConduct:
    of_account = select(_S.bounty_id).where(_S.solver == account).distinct()
    numbers = of_account.order_by(_S.bounty_id.desc()).limit(MOST_COUNTED).subquery()
    found = select(numbers.c.bounty_id, AWARD.label("award")).join(t.bounties, _B.bounty_id == numbers.c.bounty_id)
    c = _ended(found.subquery()).c
    won = and_(c.outcome == Outcome.AWARDED.number, c.winner == account)
    row = connection.execute(
        select(
            func.count(),
            func.count().filter(c.outcome.is_(None)),
            func.count().filter(won),
            func.coalesce(func.sum(c.award).filter(won), 0),
        )
    ).one()
    return SolverConduct(row[0], row[1], row[2], TokenAmount(int(row[3])))


def _guardian(connection: Connection, account: Address) -> GuardianConduct:
    m = t.roster_members.c
    versions = connection.execute(select(m.version).where(m.guardian == account)).scalars().all()
    if not versions:
        return GuardianConduct(0, 0, 0, 0, 0, None)
    due = (
        select(_B.bounty_id, _B.reveal_at, _B.roster_version)
        .join(t.finalizations, _F.bounty_id == _B.bounty_id)
        .where(_B.roster_version.in_(versions), _F.reason != SettlementReason.NO_SUBMISSIONS.number)
        .order_by(_B.bounty_id.desc())
        .limit(MOST_COUNTED)
        .subquery()
    )
    last = (
        select(_V.bounty_id, _V.guardian, func.max(_V.time).label("at"))
        .where(_V.bounty_id.in_(select(due.c.bounty_id)))
        .group_by(_V.bounty_id, _V.guardian)
        .subquery()
    )
    size = select(func.count()).where(m.version == due.c.roster_version).scalar_subquery()
    totals = select(func.count(), func.coalesce(func.sum(size), 0)).select_from(due)
    all_due, roster_due = connection.execute(totals).one()
    own = last.c.guardian == account
    roster_recorded, recorded, seconds = connection.execute(
        select(
            func.count(),
            func.count().filter(own),
            _median(func.greatest(0, last.c.at - due.c.reveal_at)).filter(own),
        ).select_from(due.join(last, last.c.bounty_id == due.c.bounty_id))
    ).one()
    return GuardianConduct(all_due, recorded, all_due - recorded, int(roster_due), roster_recorded, _whole(seconds))
