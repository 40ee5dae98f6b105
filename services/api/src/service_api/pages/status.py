"""How the deployment does, in words, and what its bounties come to."""

from dataclasses import dataclass
from typing import Final

from bounty_protocol.types import TokenAmount
from bounty_protocol.wire.deployment import DeploymentStatus, DeploymentTotals
from bounty_protocol.wire.values import IndexState

from service_api.pages.texts import marked


@dataclass(frozen=True, slots=True)
class Health:
    """The state of the index, as text. ``stage`` is the style of its mark."""

    words: str
    stage: str


STILL: Final = Health(marked("The chain makes no new block"), "judging")
HEALTH: Final = {
    IndexState.FOLLOWING: Health(marked("Everything answers"), "accepting"),
    IndexState.BEHIND: Health(marked("The index is behind"), "judging"),
    IndexState.HALTED: Health(marked("The index has stopped"), "due"),
    IndexState.STARTING: Health(marked("The index is being made"), "judging"),
    IndexState.UNAVAILABLE: Health(marked("The API cannot read its index"), "due"),
}


@dataclass(frozen=True, slots=True)
class Figures:
    """Totals of all bounties. The first counts are those of the list's filters."""

    held: TokenAmount
    paid: TokenAmount
    open: int
    judging: int
    decided: int
    awarded: int
    unawarded: int
    totals: DeploymentTotals


def health_of(status: DeploymentStatus) -> Health:
    """Return the state of the index, or of a chain that makes no new block."""
    is_running = status.state in {IndexState.FOLLOWING, IndexState.BEHIND}
    if is_running and status.chain_head is not None and status.chain_head.stands_still:
        return STILL
    return HEALTH[status.state]


def figures_of(status: DeploymentStatus) -> Figures | None:
    """Return the totals; None while there is no index."""
    found = status.totals
    if found is None:
        return None
    paid = found.awards_paid + found.refunds_paid + found.guardian_fees_paid + found.protocol_fees_paid
    return Figures(
        held=found.escrow_held,
        paid=TokenAmount(paid),
        open=found.accepting_count,
        judging=found.open_count - found.accepting_count,
        decided=found.awarded_count + found.unawarded_count,
        awarded=found.awarded_count,
        unawarded=found.unawarded_count,
        totals=found,
    )
