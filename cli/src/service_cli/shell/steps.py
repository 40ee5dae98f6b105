"""What a bounty waits for, as a step that programs know and as text."""

from dataclasses import dataclass, field

from service_common.domain.lifecycle import Schedule

from service_cli.shell.text import moment


@dataclass(frozen=True, slots=True)
class NextStep:
    """What a bounty waits for. ``at`` is chain time, None where only its people decide."""

    step: str
    at: int | None
    text: str = field(compare=False)


def next_step(schedule: Schedule, now: int, *, has_submissions: bool, is_final: bool) -> NextStep:
    """The step a bounty is in, and until when."""
    if is_final:
        return NextStep("finality", None, "final; waiting until the block is finalized")
    if now < schedule.submission_deadline:
        text = f"Submissions until {moment(schedule.submission_deadline, now)}"
        return NextStep("submissions", schedule.submission_deadline, text)
    if has_submissions and now < schedule.reveal_at:
        text = f"sealed until the reveal point at {moment(schedule.reveal_at, now)}"
        return NextStep("reveal", schedule.reveal_at, text)
    if has_submissions and now < schedule.judging_deadline:
        text = f"Guardians judge until {moment(schedule.judging_deadline, now)}"
        return NextStep("judging", schedule.judging_deadline, text)
    return NextStep("settlement", None, "time is up; anyone can settle it now")
