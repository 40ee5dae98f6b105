"""An account's record, summed from the indexed Hub log."""

from dataclasses import dataclass
from typing import Annotated, Final

from bounty_protocol.shapes import Note
from bounty_protocol.types import Address, TokenAmount

MOST_COUNTED: Final = 1_000
"""The newest bounties of an account, in each role, that are counted."""
_TO_OUTCOME: Final = "Median seconds from the reveal point to the outcome by a quorum; null if there is none."
_TO_VERDICT: Final = "Median seconds from the reveal point to its Verdict; null if there is none."


@dataclass(frozen=True, slots=True)
class PosterConduct:
    """An account's bounties as Poster: of the newest ``MOST_COUNTED``, how each ended."""

    posted: Annotated[int, Note("Those below together.", minimum=0)]
    open: Annotated[int, Note("Not final yet.", minimum=0)]
    awarded: Annotated[int, Note(minimum=0)]
    refused: Annotated[int, Note("A quorum found no valid Submission.", minimum=0)]
    without_submissions: Annotated[int, Note("Nobody submitted.", minimum=0)]
    unjudged: Annotated[int, Note("There were Submissions, but no quorum decided in time.", minimum=0)]
    awards: Annotated[TokenAmount, Note("Sum of all awards, after fees.")]
    median_seconds_to_outcome: Annotated[int | None, Note(_TO_OUTCOME)]


@dataclass(frozen=True, slots=True)
class SolverConduct:
    """An account's Submissions as Solver, of the newest ``MOST_COUNTED`` bounties that it submitted to."""

    submitted: Annotated[int, Note("Bounties with a Submission of this account.", minimum=0)]
    open: Annotated[int, Note("Those of them that are not final yet.", minimum=0)]
    won: Annotated[int, Note(minimum=0)]
    awards: Annotated[TokenAmount, Note("Sum of everything it won, after fees.")]


@dataclass(frozen=True, slots=True)
class GuardianConduct:
    """An account's Verdicts as Guardian, of the newest ``MOST_COUNTED`` final bounties with Submissions whose pinned
    roster names it. A bounty that a quorum decided before it judged counts as missed, too."""

    due: Annotated[int, Note(minimum=0)]
    recorded: Annotated[int, Note("Verdicts of this account on them.", minimum=0)]
    missed: Annotated[int, Note("Those without one.", minimum=0)]
    roster_due: Annotated[int, Note("Verdicts that all Guardians of the same rosters could have recorded.", minimum=0)]
    roster_recorded: Annotated[int, Note("Verdicts that they recorded.", minimum=0)]
    median_seconds_to_verdict: Annotated[int | None, Note(_TO_VERDICT)]


@dataclass(frozen=True, slots=True)
class AccountRecord:
    """An account's record in each role. Accounts cost nothing: who has a bad record can begin with a new one, and an
    empty record says nothing."""

    account_address: Address
    poster: PosterConduct
    solver: SolverConduct
    guardian: GuardianConduct
