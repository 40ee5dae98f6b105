"""One bounty as the Hub's log has it, and where its page states other terms."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bounty_protocol.domain.lifecycle.states import BountyStatus, Outcome
from bounty_protocol.types import Address, BountyId, Bytes32

if TYPE_CHECKING:  # a reader of the API's answers has Winner and TermDifference, and no event of the Hub
    from bounty_protocol.domain.challenge.page import ChallengePage
    from bounty_protocol.domain.lifecycle.hub_events import BountyCreated, BountyFinalized, BountyTerms, Logged, Origin


@dataclass(frozen=True, slots=True)
class Winner:
    """The awarded Submission."""

    solver_address: Address
    submission_commitment: Bytes32


@dataclass(frozen=True, slots=True)
class Bounty:
    """How it was created, and how it ended once it has."""

    created: "Logged[BountyCreated]"
    finalized: "Logged[BountyFinalized] | None"

    @property
    def bounty_id(self) -> BountyId:
        return self.created.event.bounty_id

    @property
    def terms(self) -> "BountyCreated":
        """The terms that the Hub fixed at its creation."""
        return self.created.event

    @property
    def ending(self) -> "BountyFinalized | None":
        """How it ended; None while it is open."""
        return None if self.finalized is None else self.finalized.event

    @property
    def status(self) -> BountyStatus:
        """``open`` until it has an ending."""
        return BountyStatus.OPEN if self.finalized is None else BountyStatus.FINAL

    @property
    def winner(self) -> Winner | None:
        """The awarded Submission; None if there is none."""
        ending = self.ending
        if ending is None or ending.outcome is not Outcome.AWARDED:
            return None
        return Winner(ending.winner, ending.submission_commitment)

    @property
    def changed_at(self) -> "Origin":
        """The block in which its own facts changed last."""
        return (self.finalized or self.created).origin


@dataclass(frozen=True, slots=True)
class TermDifference:
    """A term that the page and the chain state differently (decimal strings)."""

    field: str
    page: str
    chain: str


def term_differences(page: "ChallengePage", terms: "BountyTerms") -> tuple[TermDifference, ...]:
    """List where the page's terms differ from the chain's (``challenge_terms`` of the bounty detail)."""
    pairs = (
        ("escrow_amount", page.escrow_amount, terms.escrow_amount),
        ("submission_deadline", page.submission_deadline, terms.submission_deadline),
        ("judging_window_seconds", page.judging_window_seconds, terms.judging_window),
    )
    return tuple(TermDifference(name, str(ours), str(theirs)) for name, ours, theirs in pairs if ours != theirs)
