"""One bounty as the Hub's log has it."""

from dataclasses import dataclass

from service_common.domain.hub_events import BountyCreated, BountyFinalized, Logged, Origin
from service_common.domain.lifecycle import BountyStatus, Outcome
from service_common.types import Address, BountyId, Bytes32


@dataclass(frozen=True, slots=True)
class Winner:
    """The awarded Submission."""

    solver_address: Address
    submission_commitment: Bytes32


@dataclass(frozen=True, slots=True)
class Bounty:
    """How it was created, and how it ended once it has."""

    created: Logged[BountyCreated]
    finalized: Logged[BountyFinalized] | None

    @property
    def bounty_id(self) -> BountyId:
        return self.created.event.bounty_id

    @property
    def terms(self) -> BountyCreated:
        """What the Hub fixed at its creation."""
        return self.created.event

    @property
    def ending(self) -> BountyFinalized | None:
        """How it ended; None while it is open."""
        return None if self.finalized is None else self.finalized.event

    @property
    def status(self) -> BountyStatus:
        """``open`` until it has an ending."""
        return BountyStatus.OPEN if self.finalized is None else BountyStatus.FINAL

    @property
    def winner(self) -> Winner | None:
        """The awarded Submission; None where there is none."""
        ending = self.ending
        if ending is None or ending.outcome is not Outcome.AWARDED:
            return None
        return Winner(ending.winner, ending.submission_commitment)

    @property
    def changed_at(self) -> Origin:
        """Where its own facts changed last."""
        return (self.finalized or self.created).origin
