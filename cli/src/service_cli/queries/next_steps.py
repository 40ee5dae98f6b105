"""The command that comes next, by the state of a bounty: what is over or done already is never proposed."""

from typing import TYPE_CHECKING, Final

from bounty_protocol.domain.lifecycle.states import Outcome
from bounty_protocol.types import BountyId

if TYPE_CHECKING:  # who only reads the API's list loads nothing of the chain
    from bounty_protocol.chain.hub import BountyView

STATUS: Final = "service-cli status"


def for_reader(bounty_id: BountyId, *, is_final: bool, accepting: bool) -> str:
    """Return the next step for a reader of a bounty whose account is unknown."""
    if is_final:
        return STATUS
    return f"service-cli solver:submit --check {bounty_id} DIRECTORY" if accepting else watching(bounty_id)


def for_poster(bounty_id: BountyId, bounty: "BountyView") -> str:
    """Return the next step for the account that funded the bounty."""
    if bounty.outcome is None:
        return watching(bounty_id)
    if bounty.outcome is Outcome.AWARDED:
        return f"service-cli poster:open-winning-submission {bounty_id}"
    return f"service-cli claim {bounty_id}" if bounty.refund_due else STATUS


def for_guardian(bounty_id: BountyId, bounty: "BountyView", *, has_unopened: bool = False, has_judged: bool) -> str:
    """Return the next step for a Guardian who has opened or judged what there is."""
    if bounty.outcome is Outcome.AWARDED:
        return f"service-cli guardian:deliver-key {bounty_id}"
    if bounty.outcome is not None:
        return f"service-cli guardian:claim-fee {bounty_id}" if has_judged else STATUS
    return watching(bounty_id) if has_judged else judging(bounty_id, has_unopened=has_unopened)


def judging(bounty_id: BountyId, *, has_unopened: bool) -> str:
    """Return the next step for a Guardian whose Verdict is awaited: how to give one, if everything is opened."""
    return f"service-cli guardian:{f'open {bounty_id}' if has_unopened else f'verdict {bounty_id} -h'}"


def after_the_end(bounty_id: BountyId, bounty: "BountyView") -> str:
    """Return the next step after the end: the winner, or without one the Poster, may still have to claim."""
    is_due = bool(bounty.award_due if bounty.outcome is Outcome.AWARDED else bounty.refund_due)
    return f"service-cli claim {bounty_id}" if is_due else STATUS


def watching(bounty_id: BountyId) -> str:
    """Return the next step for anyone who waits for the end."""
    return f"service-cli bounty:watch {bounty_id}"
