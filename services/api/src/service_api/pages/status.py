"""How the deployment does, in words, and what its bounties come to."""

from dataclasses import dataclass
from typing import Final

from bounty_protocol.wire.deployment import DeploymentStatus, DeploymentTotals
from bounty_protocol.wire.values import IndexState

from service_api.pages.filters import Filter


@dataclass(frozen=True, slots=True)
class Health:
    """The state of the index, as text. ``stage`` is the style of its mark."""

    words: str
    stage: str


FOLLOWING: Final = Health("Everything answers", "accepting")
BEHIND: Final = Health("The index is behind", "judging")
STILL: Final = Health("The chain makes no new blocks", "judging")


def health_of(status: DeploymentStatus) -> Health:
    """Return the state of a readable index, or of a chain that makes no new blocks."""
    if status.chain_head is not None and status.chain_head.stands_still:
        return STILL
    return BEHIND if status.state is IndexState.BEHIND else FOLLOWING


def paid_of(totals: DeploymentTotals) -> int:
    """Return the total paid to all parties."""
    return totals.awards_paid + totals.refunds_paid + totals.guardian_fees_paid + totals.protocol_fees_paid


def tallies_of(totals: DeploymentTotals) -> dict[Filter, int]:
    """Return how many bounties each filter of the list has."""
    decided = totals.awarded_count + totals.unawarded_count
    judging = totals.open_count - totals.accepting_count
    open_for_work = totals.accepting_count
    everything = totals.bounty_count
    return {Filter.OPEN: open_for_work, Filter.JUDGING: judging, Filter.DECIDED: decided, Filter.ALL: everything}
