"""How the deployment does, and what its bounties come to. What the API does not state, or cannot be, is not known."""

from dataclasses import dataclass
from importlib import metadata
from typing import Final

from bounty_protocol.domain.readable import readable_line
from bounty_protocol.types import TokenAmount, UnixSeconds
from bounty_protocol.wire.deployment import (
    Announcements,
    ChainHead,
    Deployment,
    DeploymentStatus,
    DeploymentTotals,
    IndexPosition,
)
from bounty_protocol.wire.values import IndexState

from service_web.api.client import ApiAbsent, ApiRefused, ApiUnavailable, current_reader
from service_web.api.rows import IndexHead
from service_web.dependencies import Dependencies
from service_web.texts import marked
from service_web.views.freshness import is_late, stands_still

PAGES_VERSION: Final = metadata.version("service-web")
_MOST_VERSION: Final = 40
_AHEAD_SECONDS: Final = 900
"""How far a chain's newest block may be ahead of the clock of this process."""


@dataclass(frozen=True, slots=True)
class Health:
    """The state of the index, as text. ``stage`` is the style of its mark."""

    words: str
    stage: str


FINE: Final = Health(marked("Everything answers"), "accepting")
SILENT: Final = Health(marked("The API does not answer"), "judging")
LATE: Final = Health(marked("The index is behind"), "judging")
STILL: Final = Health(marked("The chain makes no new block"), "judging")
STOPPED: Final = Health(marked("The index has stopped"), "due")
UNKNOWN: Final = Health(marked("The state of the index is not known"), "judging")
_STATED: Final = {
    IndexState.FOLLOWING: FINE,
    IndexState.BEHIND: LATE,
    IndexState.HALTED: STOPPED,
    IndexState.STARTING: Health(marked("The index is being made"), "judging"),
    IndexState.UNAVAILABLE: Health(marked("The API cannot read its index"), "due"),
}


@dataclass(frozen=True, slots=True)
class Figures:
    """Totals of all bounties. The first three counts are those of the list's filters."""

    held: TokenAmount
    paid: TokenAmount
    open: int
    judging: int
    decided: int
    awarded: int
    unawarded: int
    totals: DeploymentTotals


@dataclass(frozen=True, slots=True)
class Status:
    """The status as far as it is known; None where it is not."""

    figures: Figures | None
    position: IndexPosition | None
    state: IndexState | None
    api_version: str | None
    announced: Announcements | None
    chain_head: ChainHead | None


NOTHING: Final = Status(None, None, None, None, None, None)


def status_of(deps: Dependencies, deployment: Deployment) -> Status:
    """The API's facts of this deployment. No page fails for the lack of it."""
    try:
        stated = deps.api.status().value
    except (ApiAbsent, ApiRefused, ApiUnavailable):
        return NOTHING
    if (stated.chain_id, stated.hub_address) != (deployment.chain_id, deployment.hub_address):
        return NOTHING
    version = readable_line(stated.service_version[:_MOST_VERSION])
    position = _position(stated, deps.clock.now())
    return Status(_figures(stated), position, stated.state, version, stated.announced, stated.chain_head)


def health_of(status: Status, head: IndexHead | None, now: UnixSeconds) -> Health:
    """The worst of what the API states and what is seen here."""
    if status.state is IndexState.HALTED or (head is not None and head.hasIndexingErrors):
        return STOPPED
    asking = current_reader()
    if asking.unconfirmed or asking.is_refused:
        return UNKNOWN if asking.is_refused else SILENT
    is_following = status.state is IndexState.FOLLOWING
    if status.state is None or (is_following and (head is None or status.position is None)):
        return UNKNOWN
    is_running = is_following or status.state is IndexState.BEHIND
    if is_running and status.chain_head is not None and stands_still(status.chain_head, now):
        return STILL
    if is_following and head is not None and is_late(head, now):
        return LATE
    return _STATED[status.state]


def _figures(stated: DeploymentStatus) -> Figures | None:
    found = stated.totals
    if found is None:
        return None
    decided = found.awarded_count + found.unawarded_count
    counts = (
        found.open_count,
        found.accepting_count,
        found.judgeable_count,
        found.awarded_count,
        found.unawarded_count,
    )
    if min(counts) < 0 or found.open_count + decided != found.bounty_count:
        return None
    if found.accepting_count + found.judgeable_count > found.open_count:
        return None
    paid = found.awards_paid + found.refunds_paid + found.guardian_fees_paid + found.protocol_fees_paid
    return Figures(
        held=found.escrow_held,
        paid=TokenAmount(paid),
        open=found.accepting_count,
        judging=found.open_count - found.accepting_count,
        decided=decided,
        awarded=found.awarded_count,
        unawarded=found.unawarded_count,
        totals=found,
    )


def _position(stated: DeploymentStatus, now: UnixSeconds) -> IndexPosition | None:
    """Where the index is: blocks in their order, none from the future. The lag is counted here, not taken from it.

    The newest block that the chain showed may be behind the index, which looks for it less often.
    """
    found = stated.position
    if found is None or not 0 <= found.finalized_block_number <= found.block_number:
        return None
    is_possible = found.finalized_block_time <= found.block_time <= now + _AHEAD_SECONDS
    counts = (found.finalized_block_time, found.finality_seconds, found.reorg_count, found.deepest_reorg)
    return found if is_possible and min(counts) >= 0 else None
