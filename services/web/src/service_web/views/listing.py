"""The list of bounties, as the first page shows it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from service_common.types import UnixSeconds
from service_common.wire.bounties import BountyItem
from service_common.wire.deployment import Deployment
from service_common.wire.values import Finality

from service_web.challenge import Title
from service_web.dependencies import Dependencies
from service_web.views.freshness import Freshness
from service_web.views.money import award_of
from service_web.views.stage import Deadline, Stage, next_deadline, stage_of


class Filter(StrEnum):
    """Which bounties the list shows."""

    OPEN = "open"
    JUDGING = "judging"
    DECIDED = "decided"
    ALL = "all"


FILTERS: Final[Mapping[Filter, tuple[str, Mapping[str, str]]]] = {
    Filter.OPEN: ("Open for work", {"accepting": "true"}),
    Filter.JUDGING: ("Being judged", {"status": "open", "accepting": "false"}),
    Filter.DECIDED: ("Decided", {"status": "final"}),
    Filter.ALL: ("All", {}),
}
"""The name of each, and how the API is asked for it."""


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
    """A page of the list."""

    chosen: Filter
    deployment: Deployment
    listed: tuple[Listed, ...]
    next_cursor: str | None
    is_first: bool
    now: UnixSeconds


def list_page(deps: Dependencies, chosen: Filter, cursor: str | None, fresh: Freshness) -> ListPage:
    """The bounties after a cursor."""
    found = fresh.of(deps.api.bounties(FILTERS[chosen][1], cursor))
    titles = deps.challenges.titles((each.bounty_id, each.facts.spec_commitment) for each in found.items)
    now = deps.clock.now()
    listed = tuple(_listed(each, titles[each.bounty_id], now) for each in found.items)
    return ListPage(chosen, fresh.of(deps.api.deployment()), listed, found.next_cursor, cursor is None, now)


def _listed(item: BountyItem, title: Title, now: UnixSeconds) -> Listed:
    stage = stage_of(item.facts, now, has_submissions=item.active_submission_count > 0)
    return Listed(
        item, title, stage, next_deadline(item.facts, stage), award_of(item.facts), item.finality is Finality.FINALIZED
    )
