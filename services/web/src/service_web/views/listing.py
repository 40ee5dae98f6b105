"""The list of bounties, as the first page shows it.

What an item states is the API's word, its title too: a page of twenty would cost twenty further requests to check. A
title whose bytes this process has verified is shown in its place; the bounty's own page verifies the others.
"""

from dataclasses import dataclass

from bounty_protocol.types import UnixSeconds
from bounty_protocol.wire.bounties import BountyItem, BountyList
from bounty_protocol.wire.values import Finality

from service_web.api.answers import PAGE_LENGTH
from service_web.challenge import Title
from service_web.dependencies import Dependencies
from service_web.formatting import counted
from service_web.texts import gettext
from service_web.views.filters import ListPlace, Search
from service_web.views.money import award_of
from service_web.views.stage import Deadline, Stage, next_deadline, stage_of


@dataclass(frozen=True, slots=True)
class Listed:
    """One bounty of the list."""

    item: BountyItem
    title: Title
    stage: Stage
    deadline: Deadline | None
    award: int
    is_final: bool


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of the list. ``count`` is how many bounties match on all pages, as a sentence; ``shown`` which of them are
    on this one, where that is known. ``following`` and ``former`` are the addresses of the pages beside it."""

    listed: tuple[Listed, ...]
    count: str
    shown: str | None
    following: str | None
    former: str | None
    now: UnixSeconds


def list_page(deps: Dependencies, search: Search) -> ListPage:
    """The bounties that are looked for, after the cursor."""
    place = search.place
    found = deps.api.bounties(search.query, place.cursor).value
    now = deps.clock.now()
    listed = tuple(_listed(deps, each, now) for each in found.items)
    following = None if found.next_cursor is None else search.address(place=place.after(found.next_cursor))
    before = place.before()
    former = None if before is None else search.address(place=before)
    count = _count(found, is_first=place.cursor is None)
    return ListPage(listed, count, _shown(found, place), following, former, now)


def _shown(found: BountyList, place: ListPlace) -> str | None:
    """Such as "21 to 38 of 38"; None on the only page, and where the address does not say which page it is."""
    if not found.items or (place.cursor is None and found.next_cursor is None) or (place.cursor and place.page == 1):
        return None
    first = (place.page - 1) * PAGE_LENGTH + 1
    last, total = first + len(found.items) - 1, found.total_count
    if total is None:
        return gettext("%(first)s to %(last)s of more than 1,000", first=first, last=last)
    return gettext("%(first)s to %(last)s of %(total)s", first=first, last=last, total=max(total, last))


def _listed(deps: Dependencies, item: BountyItem, now: UnixSeconds) -> Listed:
    stage = stage_of(item.facts, now, has_submissions=item.active_submission_count > 0)
    return Listed(
        item,
        deps.challenges.listed_title(item),
        stage,
        next_deadline(item.facts, stage),
        award_of(item.facts),
        item.finality is Finality.FINALIZED,
    )


def _count(found: BountyList, *, is_first: bool) -> str:
    """How many match. What is shown decides where the API states another figure than it shows."""
    shown, total = len(found.items), found.total_count
    if is_first and found.next_cursor is None:
        total = shown
    if total is None:
        return gettext("More than 1,000 bounties")
    if total < shown or (is_first and total == shown and found.next_cursor is not None):
        return gettext("How many bounties there are is not known at the moment")
    return gettext("No bounties") if total == 0 else counted(total, "bounty")
