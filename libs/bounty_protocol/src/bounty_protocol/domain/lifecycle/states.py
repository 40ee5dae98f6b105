"""A bounty's states and the moments at which they change (docs/hub.md).

Wire names and the contract's numbers meet here and nowhere else. Every boundary is exact: a deadline's own second
belongs to what comes after it. Numbers that the Hub never emits raise ``ValueError``.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from bounty_protocol.types import UnixSeconds


class BountyStatus(StrEnum):
    """``open`` until the outcome is settled on chain, then ``final``."""

    OPEN = "open"
    FINAL = "final"


class HubEnum(StrEnum):
    """Named by the interface and numbered by the Hub: from 1, in the order of the members; 0 there means none yet."""

    @property
    def number(self) -> int:
        """The Hub's ``uint8``."""
        return list(type(self).__members__).index(self.name) + 1

    @classmethod
    def of_number(cls, number: int) -> Self | None:
        """Return the member behind the Hub's number, None for 0."""
        members = list(cls)
        if not 0 <= number <= len(members):
            raise ValueError(f"not a number of the Hub's {cls.__name__}: {number}")
        return members[number - 1] if number else None


class Outcome(HubEnum):
    """How a bounty ended; an open bounty has none."""

    AWARDED = "awarded"
    NO_VALID_SUBMISSION = "no_valid_submission"


class VerdictKind(HubEnum):
    """A Guardian's decision; same numbers as the outcome it supports."""

    AWARDED = "awarded"
    NO_VALID_SUBMISSION = "no_valid_submission"


class SettlementReason(HubEnum):
    """Why the outcome is what it is; silence never looks like a judgement."""

    JUDGED = "judged"
    NO_SUBMISSIONS = "no_submissions"
    GUARDIANS_SILENT = "guardians_silent"
    QUORUM_NOT_REACHED = "quorum_not_reached"


@dataclass(frozen=True, slots=True)
class Schedule:
    """A bounty's chain times. All predicates take the time of a block, never a machine's clock."""

    submission_deadline: UnixSeconds
    reveal_at: UnixSeconds
    judging_deadline: UnixSeconds

    def accepting(self, status: BountyStatus, at: int) -> bool:
        """Return whether Submissions are recorded: open, and before the submission deadline."""
        return status is BountyStatus.OPEN and at < self.submission_deadline

    def judgeable(self, status: BountyStatus, at: int) -> bool:
        """Return whether Verdicts are recorded: open, at or past the reveal point, before the judging deadline."""
        return status is BountyStatus.OPEN and self.reveal_at <= at < self.judging_deadline

    def settleable(self, status: BountyStatus, at: int, has_submissions: bool) -> bool:
        """Return whether anyone may settle: from the judging deadline, or from the submission deadline without a
        Submission.
        """
        due = self.judging_deadline if has_submissions else self.submission_deadline
        return status is BountyStatus.OPEN and at >= due
