"""The bounty list: filters, keyset pagination, what one can act on first.

A cursor continues exactly after the last item shown, whatever was created meanwhile; every item shows how final it is.
Ordered by their next deadline, open bounties would change under the reader, so the order is newest first within open,
then newest first within final.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from bounty_protocol.domain.lifecycle.states import BountyStatus
from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.types import Address, UnixSeconds
from bounty_protocol.wire.bounties import BountyItem, BountyList, BountyQuery
from bounty_protocol.wire.cursor import BountySort, Cursor
from bounty_protocol.wire.values import Tag
from service_common.db import hub_index as t
from service_common.db.hub_facts import HubFacts
from service_common.db.hub_reads import ENDING_COLUMNS, bounty_of_row, by_sorting, read_totals
from sqlalchemy import (
    ColumnElement,
    Numeric,
    RowMapping,
    Select,
    Text,
    and_,
    any_,
    false,
    func,
    literal,
    select,
    tuple_,
)
from sqlalchemy.dialects.postgresql import ARRAY

from service_api.bounties.matching import AWARD, FILTERS, IS_FINAL, IS_OPEN, IS_SHOWN, SOURCE, TEXTS
from service_api.bounties.rendering import block_of_change, facts_of, finality_of
from service_api.bounties.searching import has_terms, terms
from service_api.moderation.texts import page_notice, withheld_of

MAX_COUNTED: Final = 1_000
"""Matches of a filter that are counted."""


def list_bounties(facts: HubFacts, query: BountyQuery) -> BountyList:
    """Return the body of ``GET /api/bounties``."""
    if query.cursor is not None and query.cursor.sort is not query.sort:
        issue = Issue("cursor", "belongs to another order; start again without it")
        raise ServiceError("invalid_request", "The request is malformed.", issues=[issue])
    matches = _conditions(query, facts.head.block_time)
    if query.guardian_address is not None:
        matches.append(_pinned(facts, query.guardian_address))
    found = _searched(facts, query)
    matches += found.conditions
    rows = _first(facts, query, matches, is_few=found.is_few)
    shown, total = rows[: query.limit], None if found.is_uncounted else _total(facts, query, matches)
    following = None
    if len(rows) > query.limit:
        following = Cursor(query.sort, int(shown[-1]["key"]), shown[-1]["bounty_id"]).to_text()
    return BountyList(tuple(_item(facts, row) for row in shown), following, total)


def _pinned(facts: HubFacts, guardian: Address) -> ColumnElement[bool]:
    """Return whether a bounty pinned a roster with this Guardian. The versions are read first: for a Guardian on no
    roster, or on all, the database could not otherwise estimate the number of bounties.
    """
    m = t.roster_members.c
    versions = facts.connection.execute(select(m.version).where(m.guardian == guardian)).scalars().all()
    return t.bounties.c.roster_version.in_(versions) if versions else false()


class _Searched(NamedTuple):
    """What is known of a search before a bounty is read."""

    conditions: Sequence[ColumnElement[bool]] = ()
    """Whether a bounty's page has these words and this tag."""
    is_few: bool = False
    """Whether at most ``MAX_COUNTED`` pages have them."""
    is_uncounted: bool = False
    """Whether more bounties match than are counted: nothing but the page is asked about, and it leaves too many."""


def _searched(facts: HubFacts, query: BountyQuery) -> _Searched:
    """Search the pages first. The database expects a rare word in one of 200 pages and would scan all bounties, newest
    first, for the few that have it; for a frequent word that way is fast. Pages that no list
    shows do not count: a thousand unfunded ones could make a rare word frequent.
    """
    search = query.search or ""
    asked = [has_terms(search)] if terms(search) else []
    asked += [] if query.tag is None else [TEXTS.tags.contains([query.tag])]
    if not asked:
        return _Searched()
    of_page = select(literal(True)).where(t.bounties.c.spec_commitment == TEXTS.spec_commitment, IS_SHOWN)
    shown = of_page.limit(1).scalar_subquery()  # looked up page by page: joined, all bounties would be read
    pages = select(TEXTS.spec_commitment).where(*asked, shown).limit(MAX_COUNTED + 1)
    found = facts.connection.execute(pages).scalars().all()
    if len(found) > MAX_COUNTED:
        return _Searched(asked, is_uncounted=query == _placed(query, search=query.search, tag=query.tag))
    is_one_of_them = t.bounties.c.spec_commitment == any_(literal(list(found), ARRAY(Text)))
    return _Searched([is_one_of_them, IS_SHOWN], is_few=True)


def _placed(query: BountyQuery, **asked: Any) -> BountyQuery:
    """Return the same place in the same order, without any other condition."""
    return BountyQuery(cursor=query.cursor, limit=query.limit, sort=query.sort, **asked)


def _first(
    facts: HubFacts, query: BountyQuery, matches: list[ColumnElement[bool]], *, is_few: bool
) -> Sequence[RowMapping]:
    """Return the rows of a page, and one more: those after the cursor's place in its order. ``is_few``: so few rows
    match that they are sorted.
    """
    b, cursor, most = t.bounties.c, query.cursor, query.limit + 1
    if query.sort is BountySort.NEWEST:
        rows: list[RowMapping] = []
        for group in _groups(query, matches, is_few=is_few):
            rows += facts.connection.execute(group.limit(most - len(rows))).mappings()
            if len(rows) == most:
                break  # do not look for final ones past all open ones
        return rows
    is_few = is_few or query.status is BountyStatus.OPEN or _is_of_open(query)
    is_rising = query.sort is BountySort.DEADLINE
    sorted_by: ColumnElement[Any] = b.submission_deadline if is_rising else AWARD
    key = by_sorting(sorted_by) if is_few else sorted_by
    order = (key, b.bounty_id) if is_rising else (key.desc(), b.bounty_id.desc())
    if cursor is not None:
        here, there = tuple_(sorted_by, b.bounty_id), tuple_(literal(cursor.key, Numeric), literal(cursor.bounty_id))
        matches = [*matches, here > there if is_rising else here < there]
    # The matching rows are found first; then only their details are read.
    first = select(b.bounty_id).select_from(SOURCE).where(*matches).order_by(*order).limit(most)
    page = _rows(key).where(b.bounty_id.in_(first)).order_by(*order)
    return facts.connection.execute(page).mappings().all()


def _is_of_open(query: BountyQuery) -> bool:
    """Return whether a filter leaves open bounties only."""
    return bool(query.accepting or query.judgeable)


def _groups(query: BountyQuery, matches: list[ColumnElement[bool]], *, is_few: bool) -> Iterator[Select[Any]]:
    """Yield open bounties, then final ones, each newest first."""
    bounty_id, cursor = t.bounties.c.bounty_id, query.cursor
    order = by_sorting(bounty_id) if is_few else bounty_id
    for key, status, condition in ((0, BountyStatus.OPEN, IS_OPEN), (1, BountyStatus.FINAL, IS_FINAL)):
        if status is BountyStatus.FINAL and _is_of_open(query):
            continue  # the database would look through all bounties to find none
        if query.status in {None, status} and (cursor is None or key >= cursor.key):
            found = _rows(literal(key)).where(condition, *matches)
            if cursor is not None and key == cursor.key:
                found = found.where(bounty_id < cursor.bounty_id)
            yield found.order_by(order.desc())


def _rows(key: ColumnElement[Any]) -> Select[Any]:
    """Select bounties with all that is shown of each, and what they are sorted by."""
    bounty_id, s = t.bounties.c.bounty_id, t.submissions.c
    solvers = select(func.count(s.solver.distinct())).where(s.bounty_id == bounty_id).scalar_subquery()
    columns = (
        *t.bounties.c,
        *ENDING_COLUMNS,
        TEXTS.title,
        TEXTS.summary,
        TEXTS.tags,
        page_notice(t.bounties.c.spec_commitment, t.bounties.c.poster).label("withheld"),
        solvers.label("solvers"),
        key.label("key"),
    )
    return select(*columns).select_from(SOURCE)


def _total(facts: HubFacts, query: BountyQuery, matches: list[ColumnElement[bool]]) -> int | None:
    """Return how many bounties match: from the cache for all or one status; else counted up to ``MAX_COUNTED``."""
    if query == _placed(query, status=query.status):
        totals = read_totals(facts.connection)
        return {None: totals.bounties, BountyStatus.OPEN: totals.open, BountyStatus.FINAL: totals.final}[query.status]
    found = select(t.bounties.c.bounty_id).select_from(SOURCE).where(*matches).limit(MAX_COUNTED + 1).subquery()
    count = facts.connection.execute(select(func.count()).select_from(found)).scalar_one()
    return count if count <= MAX_COUNTED else None


def _item(facts: HubFacts, row: RowMapping) -> BountyItem:
    bounty = bounty_of_row(row)
    return BountyItem(
        bounty_id=bounty.bounty_id,
        facts=facts_of(bounty, facts.head.block_time),
        active_submission_count=row["solvers"],
        finality=finality_of(bounty, facts.head),
        block=block_of_change(bounty),
        title=row["title"],
        summary=row["summary"],
        tags=tuple(Tag(tag) for tag in row["tags"] or ()),
        withheld=withheld_of(row["withheld"]),
    )


def _conditions(query: BountyQuery, now: UnixSeconds) -> list[ColumnElement[bool]]:
    b = t.bounties.c
    accepting = and_(IS_OPEN, b.submission_deadline > now)
    judgeable = and_(IS_OPEN, b.reveal_at <= now, b.judging_deadline > now)
    asked = [(name, getattr(query, name)) for name in FILTERS]
    found = [FILTERS[name](value) for name, value in asked if value is not None]
    for wanted, condition in ((query.accepting, accepting), (query.judgeable, judgeable)):
        if wanted is not None:
            found.append(condition if wanted else ~condition)
    return found
