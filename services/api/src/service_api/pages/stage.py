"""Where a bounty is in its life, as a person sees it: finer than open and final, by the clock of this process.

The chain decides by the time of its blocks; a page may be some seconds ahead of it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bounty_protocol.domain.lifecycle.states import BountyStatus, Outcome, Schedule
from bounty_protocol.types import UnixSeconds
from bounty_protocol.wire.bounties import Facts

from service_api.pages.rows import BountyRow


class Stage(StrEnum):
    """Each is a name of a style, too."""

    ACCEPTING = "accepting"
    SEALED = "sealed"
    JUDGING = "judging"
    DUE = "due"
    AWARDED = "awarded"
    REJECTED = "rejected"


LABELS: Final = {
    Stage.ACCEPTING: "Open for work",
    Stage.SEALED: "Work is sealed",
    Stage.JUDGING: "Being judged",
    Stage.DUE: "Time is up",
    Stage.AWARDED: "Awarded",
    Stage.REJECTED: "Not awarded",
}
MEANINGS: Final = {
    Stage.ACCEPTING: "Solvers can submit sealed work. Nobody can read it before the reveal point.",
    Stage.SEALED: "Submissions are closed. Nobody can open them before the reveal point.",
    Stage.JUDGING: "The Guardians of the roster open the Submissions and record their Verdicts.",
    Stage.DUE: "Nothing more can be submitted or judged. Anyone can settle the bounty on chain.",
    Stage.AWARDED: "A quorum of Guardians awarded one Submission. The outcome is final on chain.",
    Stage.REJECTED: "The bounty ended without an award. The outcome is final on chain.",
}


@dataclass(frozen=True, slots=True)
class Deadline:
    """The next moment at which something changes."""

    name: str
    at: UnixSeconds
    brief: str
    """The same before a time in a list: "closes"."""


def stage_of(terms: Facts | BountyRow, now: int, *, has_submissions: bool) -> Stage:
    """Return the stage at a time."""
    if terms.status is BountyStatus.FINAL:
        return Stage.AWARDED if terms.outcome is Outcome.AWARDED else Stage.REJECTED
    schedule = Schedule(terms.submission_deadline, terms.reveal_at, terms.judging_deadline)
    if schedule.settleable(terms.status, now, has_submissions):
        return Stage.DUE
    if schedule.accepting(terms.status, now):
        return Stage.ACCEPTING
    return Stage.JUDGING if schedule.judgeable(terms.status, now) else Stage.SEALED


def next_deadline(terms: Facts | BountyRow, stage: Stage) -> Deadline | None:
    """Return the next deadline; None once time is up."""
    if stage is Stage.ACCEPTING:
        return Deadline("Submissions close", terms.submission_deadline, "closes")
    if stage is Stage.SEALED:
        return Deadline("Judging starts", terms.reveal_at, "judging starts")
    if stage is Stage.JUDGING:
        return Deadline("Judging ends", terms.judging_deadline, "judging ends")
    return None
