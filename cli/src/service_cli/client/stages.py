"""The stage a bounty is in, and what it waits for, from its times and its outcome.

Promises: boundaries are the Hub's own; the stage is told for a given chain time, never guessed from a flag.
"""

from dataclasses import dataclass, field
from typing import Protocol

from service_cli.words import moment


class Timed(Protocol):
    """What the stage of a bounty depends on, as the chain or the API tells it. ``outcome`` is falsy while open."""

    @property
    def submission_deadline(self) -> int: ...
    @property
    def reveal_at(self) -> int: ...
    @property
    def judging_deadline(self) -> int: ...
    @property
    def has_submissions(self) -> bool: ...
    @property
    def outcome(self) -> object: ...


@dataclass(frozen=True, slots=True)
class Next:
    """What a bounty waits for. ``at`` is chain time, None where only its people decide."""

    step: str
    at: int | None
    words: str = field(compare=False)


def what_next(bounty: Timed, now: int) -> Next:
    """The step a bounty is in, and until when."""
    if bounty.outcome:
        return Next("finality", None, "final; waiting until the block is finalized")
    if now < bounty.submission_deadline:
        words = f"Submissions until {moment(bounty.submission_deadline, now)}"
        return Next("submissions", bounty.submission_deadline, words)
    if bounty.has_submissions and now < bounty.reveal_at:
        return Next("reveal", bounty.reveal_at, f"sealed until the reveal point at {moment(bounty.reveal_at, now)}")
    if bounty.has_submissions and now < bounty.judging_deadline:
        return Next("judging", bounty.judging_deadline, f"Guardians judge until {moment(bounty.judging_deadline, now)}")
    return Next("settlement", None, "time is up; anyone can settle it now")
