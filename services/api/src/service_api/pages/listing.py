"""The list of bounties, as the first page shows it."""

from dataclasses import dataclass

from bounty_protocol.types import UnixSeconds
from bounty_protocol.wire.bounties import BountyItem, BountyList
from bounty_protocol.wire.values import Finality
from service_common.db.hub_facts import HubFacts

from service_api.bounties.list_bounties import list_bounties
from service_api.pages.filters import Search
from service_api.pages.formatting import counted
from service_api.pages.sources import PageSources
from service_api.pages.stage import Deadline, Stage, next_deadline, stage_of
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
    """A page of the list. ``count`` is how many bounties match on all pages, as a sentence; ``following`` the address
    of the next one."""

    listed: tuple[Listed, ...]
    count: str
    following: str | None
    now: UnixSeconds


def list_page(deps: PageSources, facts: HubFacts, search: Search) -> ListPage:
    """Return the bounties that match the search, after the cursor."""
    found, now = list_bounties(facts, search.query), deps.clock.now()
    listed = tuple(_listed(each, now) for each in found.items)
    following = None if found.next_cursor is None else search.address(cursor=found.next_cursor)
    return ListPage(listed, _count(found), following, now)


def _listed(item: BountyItem, now: UnixSeconds) -> Listed:
    stage = stage_of(item.facts, now, has_submissions=item.active_submission_count > 0)
    return Listed(
        item,
        stated_title(item.title, item.summary, item.tags, item.withheld),
        stage,
        next_deadline(item.facts, stage),
        item.facts.award,
        item.finality is Finality.FINALIZED,
    )


def _count(found: BountyList) -> str:
    """Say how many match."""
    total = found.total_count
    if total is None:
        return "More than 1,000 bounties"
    return "No bounties" if total == 0 else counted(total, "bounty")
