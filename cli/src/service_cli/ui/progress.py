"""How a bounty gets on, for people: an event of the Hub in one sentence, and what the bounty waits for."""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from bounty_protocol.domain.lifecycle.states import Schedule
from bounty_protocol.types import UnixSeconds

from service_cli.ui.text import moment

REASONS: Final[Mapping[str, str]] = {
    "judged": "the Guardians' Verdicts decided",
    "no_submissions": "nobody submitted",
    "guardians_silent": "no Guardian recorded a Verdict",
    "quorum_not_reached": "too few Guardians agreed",
}
"""By the name of a settlement reason."""
_SENTENCES: Final[Mapping[str, str]] = {
    "BountyCreated": "created by {poster} with {escrow_amount} in escrow",
    "SubmissionRecorded": "{solver} submitted {submission_commitment}",
    "VerdictRecorded awarded": "{guardian} judged: award {solver}",
    "VerdictRecorded no_valid_submission": "{guardian} judged: no valid Submission",
    "BountyFinalized awarded": "it is final: awarded to {winner} ({reason})",
    "BountyFinalized no_valid_submission": "it is final: no winner ({reason}); {refund} go back to the Poster",
    "AwardClaimed": "{solver} claimed the award, {amount}",
    "RefundClaimed": "{poster} claimed {amount} back",
    "GuardianFeeClaimed": "{guardian} claimed a Guardian's share, {amount}",
    "ProtocolFeeClaimed": "{recipient} claimed the protocol fee, {amount}",
}
"""By the name of an event and, where it has one, its kind or outcome."""


def sentence(name: str, fields: Mapping[str, object]) -> str:
    """Return one event as a template with the names of its fields in braces; an unknown event is its name."""
    kind = fields.get("kind") or fields.get("outcome")
    template = _SENTENCES.get(f"{name} {kind}" if kind else name)
    if template is None:
        return "".join(each for each in name[:80] if each.isalnum())
    return template.replace("{reason}", REASONS.get(str(fields.get("reason")), ""))


Step = Literal["submissions", "reveal", "judging", "settlement", "finality"]


STEPS: Final[Mapping[Step, str]] = {
    "submissions": "Submissions are accepted until {at}",
    "reveal": "the work is sealed until {at}",
    "judging": "Guardians judge until {at}",
    "settlement": "time is up; anyone can settle it now",
    "finality": "the outcome is on chain; waiting until its block is finalized",
}


class NextStep(NamedTuple):
    """The next step of a bounty. ``at`` is chain time, None if only its people decide."""

    step: Step
    at: UnixSeconds | None

    def text(self, now: int) -> str:
        """Return the step in words."""
        return STEPS[self.step].format(at=None if self.at is None else moment(self.at, now))


def next_step(schedule: Schedule, now: int, *, has_submissions: bool, is_final: bool) -> NextStep:
    """Return the step a bounty is in, and until when."""
    if is_final:
        return NextStep("finality", None)
    if now < schedule.submission_deadline:
        return NextStep("submissions", schedule.submission_deadline)
    if has_submissions and now < schedule.reveal_at:
        return NextStep("reveal", schedule.reveal_at)
    if has_submissions and now < schedule.judging_deadline:
        return NextStep("judging", schedule.judging_deadline)
    return NextStep("settlement", None)
