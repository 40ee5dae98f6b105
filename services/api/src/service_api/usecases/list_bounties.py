"""The bounty list: filters, keyset pagination, what one can act on first.

A cursor continues exactly after the last item shown, whatever was created meanwhile; every item shows how final it is.
Ordered by their next deadline, open bounties would change under the reader, so the order is newest first within open,
then newest first within final.
"""

from service_common.db import hub_index as t
from service_common.db.hub_facts import HubFacts
from service_common.db.hub_reads import bounty_of_row, count_active_submissions, read_finalization
from service_common.domain.lifecycle import BountyStatus
from service_common.types import UnixSeconds
from service_common.wire.bounties import BountyItem, BountyList, BountyQuery
from service_common.wire.cursor import Cursor
from sqlalchemy import ColumnElement, RowMapping, and_, exists, or_, select

from service_api.dependencies import Dependencies
from service_api.usecases.rendering import block_of_change, facts_of, finality_of


def list_bounties(deps: Dependencies, query: BountyQuery) -> BountyList:
    """The body of ``GET /api/bounties``."""
    with deps.facts.open() as facts:
        b, ended = t.bounties.c, t.finalizations.c
        group = (ended.bounty_id.is_not(None)).label("final")
        rows = (
            facts.connection.execute(
                select(t.bounties, group)
                .outerjoin(t.finalizations, ended.bounty_id == b.bounty_id)
                .where(*_conditions(query, facts.head.block_time))
                .order_by(group, b.bounty_id.desc())
                .limit(query.limit + 1)
            )
            .mappings()
            .all()
        )
        shown = rows[: query.limit]
        cursor = Cursor(int(shown[-1]["final"]), shown[-1]["bounty_id"]).to_text() if len(rows) > query.limit else None
        return BountyList(tuple(_item(facts, row) for row in shown), cursor)


def _item(facts: HubFacts, row: RowMapping) -> BountyItem:
    ending = read_finalization(facts.connection, row["bounty_id"]) if row["final"] else None
    bounty = bounty_of_row(row, ending)
    return BountyItem(
        bounty_id=bounty.bounty_id,
        facts=facts_of(bounty, facts.head.block_time),
        active_submission_count=count_active_submissions(facts.connection, bounty.bounty_id),
        finality=finality_of(bounty, facts.head),
        block=block_of_change(bounty),
    )


def _conditions(query: BountyQuery, now: UnixSeconds) -> list[ColumnElement[bool]]:
    b, ended = t.bounties.c, t.finalizations.c
    is_open = ended.bounty_id.is_(None)
    accepting = and_(is_open, b.submission_deadline > now)
    judgeable = and_(is_open, b.reveal_at <= now, b.judging_deadline > now)
    found: list[ColumnElement[bool]] = []
    if query.status is not None:
        found.append(is_open if query.status is BountyStatus.OPEN else ~is_open)
    if query.accepting is not None:
        found.append(accepting if query.accepting else ~accepting)
    if query.judgeable is not None:
        found.append(judgeable if query.judgeable else ~judgeable)
    if query.poster_address is not None:
        found.append(b.poster == query.poster_address)
    if query.solver_address is not None:
        s = t.submissions.c
        found.append(exists().where(s.bounty_id == b.bounty_id, s.solver == query.solver_address))
    if query.guardian_address is not None:
        m = t.roster_members.c
        found.append(exists().where(m.version == b.roster_version, m.guardian == query.guardian_address))
    if query.cursor is not None:
        found.append(_after(query.cursor, is_open))
    return found


def _after(cursor: Cursor, is_open: ColumnElement[bool]) -> ColumnElement[bool]:
    older = t.bounties.c.bounty_id < cursor.bounty_id
    return or_(and_(is_open, older), ~is_open) if cursor.group == 0 else and_(~is_open, older)
