"""The bounty list: filters, keyset pagination, what one can act on first.

Promises: a cursor continues exactly after the last item shown, whatever was created meanwhile; every item says how
final it is. Order: open bounties by their next deadline would change under the reader, so it is newest first within
open, then newest first within final.
"""

import base64
import json
from dataclasses import dataclass

from service_common.db import hub_index as t
from service_common.db.hub_facts import HubFacts
from service_common.db.hub_reads import bounty_of_row, count_active_submissions, read_finalization
from service_common.domain.lifecycle import BountyStatus
from service_common.errors import Issue, ServiceError
from service_common.types import Address, UnixSeconds
from sqlalchemy import ColumnElement, RowMapping, and_, exists, or_, select

from service_api.dependencies import Dependencies
from service_api.usecases.rendering import facts_json, finality_json

DEFAULT_LIMIT = 20
MAX_LIMIT = 100
_MAX_CURSOR = 64


@dataclass(frozen=True, slots=True)
class Cursor:
    """The place after which a page starts: the group (0 open, 1 final) and the id."""

    group: int
    bounty_id: int

    def to_text(self) -> str:
        return base64.urlsafe_b64encode(json.dumps([self.group, self.bounty_id]).encode()).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class BountyQuery:
    """What the list is asked for."""

    limit: int = DEFAULT_LIMIT
    cursor: Cursor | None = None
    status: BountyStatus | None = None
    accepting: bool | None = None
    judgeable: bool | None = None
    poster: Address | None = None
    solver: Address | None = None
    guardian: Address | None = None


def parse_cursor(text: str) -> Cursor:
    """Read a ``next_cursor``: exactly a text that ``to_text`` writes, of which each place has one."""
    try:
        group, bounty_id = json.loads(base64.urlsafe_b64decode(text[:_MAX_CURSOR] + "=" * (-len(text) % 4)))
        cursor = Cursor(group, bounty_id)
    except (ValueError, TypeError):
        raise _malformed_cursor() from None
    if (type(group), type(bounty_id)) != (int, int) or cursor.to_text() != text:
        raise _malformed_cursor()
    if group not in (0, 1) or not 0 < bounty_id < 2**63:
        raise _malformed_cursor()
    return cursor


def list_bounties(deps: Dependencies, query: BountyQuery) -> dict[str, object]:
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
        return {"items": [_item(facts, row) for row in shown], "next_cursor": cursor}


def _item(facts: HubFacts, row: RowMapping) -> dict[str, object]:
    ending = read_finalization(facts.connection, row["bounty_id"]) if row["final"] else None
    bounty = bounty_of_row(row, ending)
    return {
        "bounty_id": str(bounty.bounty_id),
        "facts": facts_json(bounty, facts.head.block_time),
        "active_submission_count": count_active_submissions(facts.connection, bounty.bounty_id),
        **finality_json(bounty, facts.head),
    }


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
    if query.poster is not None:
        found.append(b.poster == query.poster)
    if query.solver is not None:
        s = t.submissions.c
        found.append(exists().where(s.bounty_id == b.bounty_id, s.solver == query.solver))
    if query.guardian is not None:
        m = t.roster_members.c
        found.append(exists().where(m.version == b.roster_version, m.guardian == query.guardian))
    if query.cursor is not None:
        found.append(_after(query.cursor, is_open))
    return found


def _after(cursor: Cursor, is_open: ColumnElement[bool]) -> ColumnElement[bool]:
    older = t.bounties.c.bounty_id < cursor.bounty_id
    return or_(and_(is_open, older), ~is_open) if cursor.group == 0 else and_(~is_open, older)


def _malformed_cursor() -> ServiceError:
    issue = Issue("cursor", "is not a next_cursor of this list; start again without it")
    return ServiceError("invalid_request", "The query is malformed.", issues=[issue])
