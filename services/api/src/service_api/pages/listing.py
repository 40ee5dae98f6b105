"""The list of bounties, as the first page shows it."""

from dataclasses import dataclass

from bounty_protocol.types import UnixSeconds
from bounty_protocol.wire.bounties import BountyItem, BountyList
from bounty_protocol.wire.values import Finality

from service_api.bounties.list_bounties import list_bounties
from service_api.pages.filters import PAGE_LENGTH, ListPlace, Search
from service_api.pages.formatting import counted
from service_api.pages.money import award_of
from service_api.pages.sources import PageSources
from service_api.pages.stage import Deadline, Stage, next_deadline, stage_of
from service_api.pages.texts import gettext
from service_api.pages.titles import Title, stated_title


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


def list_page(deps: PageSources, search: Search) -> ListPage:
    """The bounties that are looked for, after the cursor."""
    place = search.place
    found = list_bounties(deps.facts, search.query).value
    now = deps.clock.now()
    listed = tuple(_listed(each, now) for each in found.items)
    following = None if found.next_cursor is None else search.address(place=place.after(found.next_cursor))
    before = place.before()
    former = None if before is None else search.address(place=before)
    return ListPage(listed, _count(found), _shown(found, place), following, former, now)


def _shown(found: BountyList, place: ListPlace) -> str | None:
    """Such as "21 to 38 of 38"; None on the only page, and where the address does not say which page it is."""
    if not found.items or (place.cursor is None and found.next_cursor is None) or (place.cursor and place.page == 1):
        return None
    first = (place.page - 1) * PAGE_LENGTH + 1
    last, total = first + len(found.items) - 1, found.total_count
    if total is None:
        return gettext("%(first)s to %(last)s of more than 1,000", first=first, last=last)
    return gettext("%(first)s to %(last)s of %(total)s", first=first, last=last, total=max(total, last))


def _listed(item: BountyItem, now: UnixSeconds) -> Listed:
    stage = stage_of(item.facts, now, has_submissions=item.active_submission_count > 0)
    return Listed(
        item,
        stated_title(item.title, item.summary, item.tags, item.withheld),
        stage,
        next_deadline(item.facts, stage),
        award_of(item.facts),
        item.finality is Finality.FINALIZED,
    )


def _count(found: BountyList) -> str:
    """How many match."""
    total = found.total_count
    if total is None:
        return gettext("More than 1,000 bounties")
    return gettext("No bounties") if total == 0 else counted(total, "bounty")
