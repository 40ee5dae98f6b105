"""Rubric 3 and 4, time: the deadline leaves time, and dates and durations on the page are what it fixes.

Days are compared with a day's tolerance (a page does not name its time zone), durations with a half; a date counts as
the deadline only in a sentence that calls it so.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from bounty_protocol.errors import Issue
from bounty_protocol.readiness.numbers import DURATION, dates_in, day_of, seconds_of
from bounty_protocol.readiness.patterns import Found, Pattern, found_in
from bounty_protocol.readiness.reading import Passage, Reading
from bounty_protocol.readiness.rule import Example, Rule

LEAST_REVEAL_DELAYS: Final = 3
"""A Solver has at least this many reveal delays to work in."""

_DEADLINE: Final = Pattern(
    r"\b(deadline|due|closing date|submissions? (close|end|until|by|before|must|are)|(submit|hand(ed)? in|deliver(ed)?|"
    r"send|entries|proposals)\b.{0,60}\b(by|until|before|after|no later than|not later than))\b",
)
_LATER: Final = Pattern(
    r"\b(will be|is|are|to be|gets?)\b.{0,30}\b(released|published|available|uploaded|provided|announced|shared"
    r"|sent)\b",
)
_ALLOWED: Final = Pattern(
    rf"\b(?:you|solvers?|participants|everyone|everybody)(?: will| all)? have (?:about |around |roughly |at least )?"
    rf"{DURATION}"
    rf"|\b(?:submissions?|bounty|challenge|call) (?:is|are|stays?|remains?|will be) open for (?:about )?{DURATION}"
    rf"|\bdeadline is in {DURATION}|{DURATION} (?:to|for) submi",
)
_EFFORT: Final = Pattern(
    rf"{DURATION} of (?:full[- ]time |hard |focused |solid |continuous )?"
    rf"(?:work|effort|development|programming|research)",
)
_RUN: Final = Pattern(
    rf"\b(?:runs?|running|stays?|survives?|operates?|up|uptime|restarts?|crash|interruption|downtime)\b.{{0,40}}?"
    rf"\b(?:for|over)\b.{{0,15}}?{DURATION}",
)


def find_misfits(reading: Reading) -> Iterator[Issue]:
    """Find times that do not fit the work, the reveal delay or each other."""
    yield from _deadline(reading)
    durations = found_in((_ALLOWED, _EFFORT), reading.all_prose)
    for passage in reading.prose:
        for at, sentence in passage.sentences:
            yield from _dates(reading, passage, at, sentence)
            yield from _durations(reading, passage, at, sentence, durations)


def _deadline(reading: Reading) -> Iterator[Issue]:
    material, deadline = reading.material, reading.page.submission_deadline
    least = LEAST_REVEAL_DELAYS * (material.reveal_delay or 0)
    if deadline <= material.now:
        yield Issue("submission_deadline", "Is in the past. Choose a deadline that leaves time to do the work.")
    elif deadline - material.now < least:
        yield Issue(
            "submission_deadline",
            f"Leaves {_in_words(deadline - material.now)} to find the page, do the work and seal it. Leave at "
            f"least {_in_words(least)} ({LEAST_REVEAL_DELAYS} times this deployment's reveal delay).",
        )


def _in_words(seconds: int) -> str:
    return f"{seconds} seconds" if seconds < 120 else f"{seconds // 60} minutes"


def _dates(reading: Reading, passage: Passage, at: int, sentence: str) -> Iterator[Issue]:
    deadline = day_of(reading.page.submission_deadline)
    if deadline is None:
        return
    about_deadline: bool | None = None
    for day in dates_in(sentence):
        if about_deadline is None:
            about_deadline, announces = _DEADLINE.search(sentence) is not None, _LATER.search(sentence) is not None
        if about_deadline:
            if abs((day - deadline).days) > 1:
                yield passage.issue(
                    f"Gives {day} as the deadline, but the frontmatter's submission_deadline is on {deadline} (UTC). "
                    "State it once, in the frontmatter.",
                    at,
                )
        elif day > deadline and announces:
            yield passage.issue(
                f"Announces something for {day}, after the deadline on {deadline}. A Solver needs it earlier: "
                "publish the page when it is ready, or move the deadline.",
                at,
            )


def _durations(
    reading: Reading, passage: Passage, at: int, sentence: str, durations: Sequence[Pattern]
) -> Iterator[Issue]:
    left = reading.page.submission_deadline - reading.material.now
    for found in _ALLOWED.each(sentence) if _ALLOWED in durations else ():
        stated = _seconds(found)
        if stated > left * 3 // 2 or stated < left // 2:
            yield passage.issue(
                f"Promises {found.words[:80]!r}, but the deadline is {left / 86_400:.1f} days away. Change one of "
                "the two.",
                at + found.start,
            )
    for found in _EFFORT.each(sentence) if _EFFORT in durations else ():
        if _seconds(found) > left:
            yield passage.issue(
                f"Estimates {found.words[:80]!r}, but the deadline is {left / 86_400:.1f} days away. Move the "
                "deadline, or ask for less.",
                at + found.start,
            )
    if passage.path.startswith("acceptance_criteria"):
        window = reading.page.judging_window_seconds + (reading.material.reveal_delay or 0)
        for found in _RUN.each(sentence):
            if _seconds(found) > window:
                yield passage.issue(
                    f"Takes longer to check than Guardians have: the judging window is "
                    f"{reading.page.judging_window_seconds / 86_400:.1f} days. Lengthen judging_window_seconds, or ask "
                    "for a shorter run or a log of it.",
                    at,
                )


def _seconds(found: Found) -> int:
    quantity, unit = found.groups[:2]
    return seconds_of(quantity, unit)


TIMES: Final = Rule(
    name="times",
    point=3,
    check=find_misfits,
    examples=(
        Example("body", "The deadline is 1 March 2029.", "Data up to 2024-12-31 is public."),
        Example("body", "The data will be published on 2031-05-20.", "The data was published on 2024-05-20."),
        Example("body", "You have two weeks to submit.", "The old tool took two weeks."),
        Example("body", "You have 2 months to submit.", "You have 38 months to submit."),
        Example("body", "It takes 40 months of work.", "It takes two weeks of work."),
        Example(
            "acceptance_criteria",
            "The program runs without a crash for 300 days.",
            "The program runs without a crash for one minute.",
        ),
    ),
)
