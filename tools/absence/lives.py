"""Bounties that run through their lives whatever is away: each step is typed again until it works, as people do."""

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from demo.bounty import Cast, Funded, Submitted
from demo.examples import artifact
from demo.person import UnexpectedEnd

SUBMISSION_SECONDS: Final = 30
SILENT_JUDGING_SECONDS: Final = 20
JUDGING_SPARE_SECONDS: Final = 300
"""What a judging window has beside the absence, for a step that has to wait for its end."""
PAUSE_SECONDS: Final = 3.0
"""After which a person types again what failed."""
_FINAL: Final = 13
"""The place of the outcome in the Hub's answer of getBounty; 0 until it is final."""
Step = Callable[[], bool]
"""One step of a life: False while it is not its time, an exception where it was refused."""


@dataclass(slots=True)
class Life:
    """One bounty, and what is still to be done for it."""

    title: str
    steps: list[tuple[str, Step]]
    again: Counter[str] = field(default_factory=Counter)
    """How often a step had to be typed again, and why."""
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None
    _next: float = 0.0

    def go_on(self) -> None:
        """Try the step whose turn it is, where its pause is over."""
        if self.ended is not None or time.monotonic() < self._next:
            return
        name, step = self.steps[0]
        try:
            done = step()
        except UnexpectedEnd as refused:
            self.again[f"{name}: {_why(str(refused))}"] += 1
            self._next = time.monotonic() + PAUSE_SECONDS
            return
        if not done:
            self._next = time.monotonic() + 0.5
            return
        del self.steps[0]
        if not self.steps:
            self.ended = time.monotonic()


def begun_before(cast: Cast, seconds: float) -> list[Life]:
    """Two funded bounties with work in them: one is judged from now on, the other is forgotten by its Guardians.

    The first one's window of judging is longer than an absence of ``seconds``; the second one's ends soon, and somebody
    has to settle it.
    """
    judged, work = _with_work(cast, "solver-1", "To be judged", int(seconds) + JUDGING_SPARE_SECONDS)
    silent, _ = _with_work(cast, "solver-2", "To be forgotten", SILENT_JUDGING_SECONDS)
    return [
        Life("judged, paid, delivered and opened", _judged(cast, judged, work)),
        Life("settled over a silent roster", [("settle", lambda: _is_final(cast, silent))]),
    ]


def _with_work(cast: Cast, solver: str, title: str, judging_seconds: int) -> tuple[Funded, Submitted]:
    """A funded bounty with a Submission; another one where a busy machine used up a window of seconds."""
    while True:
        bounty = cast.fund(submission_seconds=SUBMISSION_SECONDS, judging_seconds=judging_seconds, title=title)
        try:
            return bounty, cast.submit(bounty, solver)
        except UnexpectedEnd:
            if cast.chain_time() < bounty.submission_deadline:
                raise


def begin(cast: Cast, number: int, seconds: float) -> Life:
    """A bounty from its page on, which the Guardians refuse and the Poster gets back.

    Its window is of seconds, where real ones are of days: one that an absence uses up has no Submission and is settled.
    """
    bounty: list[Funded] = []

    def fund() -> bool:
        judging = int(seconds) + JUDGING_SPARE_SECONDS
        bounty.append(
            cast.fund(
                submission_seconds=SUBMISSION_SECONDS, judging_seconds=judging, title=f"Begun meanwhile, {number}"
            )
        )
        return True

    def submit() -> bool:
        """As the client's manual has it: where the API does not take it, the work is recorded without it."""
        person = cast.person("solver-2")
        folder = person.home / f"work-{bounty[0].bounty_id}"
        first = not folder.exists()
        words = [] if first else ["--without-api"]
        work = artifact(folder) if first else folder / "artifact"
        try:
            person.run("solver:submit", *words, bounty[0].bounty_id, str(work))
        except UnexpectedEnd:
            if cast.chain_time() < bounty[0].submission_deadline:
                raise
            life.again["submit: too late for a window of seconds"] += 1
            life.steps[1:] = [("settle", lambda: _is_final(cast, bounty[0])), ("claim", claim)]
        return True

    def refuse(guardian: str) -> Step:
        def step() -> bool:
            if cast.chain_time() < bounty[0].reveal_at:
                return False
            cast.reject(bounty[0], guardian, "None of the criteria is met.\n")
            return True

        return step

    def claim() -> bool:
        cast.person("poster").run("claim", bounty[0].bounty_id)
        return True

    life = Life(
        "published, submitted to, refused and refunded",
        [
            ("publish and fund", fund),
            ("submit", submit),
            ("judge", refuse("guardian-1")),
            ("judge", refuse("guardian-3")),
            ("claim", claim),
        ],
    )
    return life


def _judged(cast: Cast, bounty: Funded, work: Submitted) -> list[tuple[str, Step]]:
    named = (bounty.bounty_id, work.solver, work.commitment)

    def typed(person: str, *words: str) -> Step:
        def step() -> bool:
            cast.person(person).run(*words)
            return True

        return step

    def award(guardian: str) -> Step:
        def step() -> bool:
            cast.award(bounty, guardian, work, "Meets every criterion.\n", opened=guardian == "guardian-1")
            return True

        return step

    return [
        ("reveal", lambda: cast.chain_time() >= bounty.reveal_at),
        ("open", typed("guardian-1", "guardian:open", *named, f"opened-{bounty.bounty_id}")),
        ("judge", award("guardian-1")),
        ("judge", award("guardian-2")),
        ("claim", typed("solver-1", "claim", bounty.bounty_id)),
        ("deliver the key", typed("guardian-1", "guardian:deliver-key", *named)),
        (
            "open what won",
            typed("poster", "poster:open-winning-submission", bounty.bounty_id, f"won-{bounty.bounty_id}"),
        ),
    ]


def _is_final(cast: Cast, bounty: Funded) -> bool:
    return bool(cast.stack.hub.hub.call("getBounty", int(bounty.bounty_id))[_FINAL])


def _why(words: str) -> str:
    """The code of what a command reported last."""
    codes = re.findall(r'"code": ?"(\w+)"', words)
    return codes[-1] if codes else words.strip().splitlines()[-1][:80]


def typed_again(lives: Sequence[Life]) -> Counter[str]:
    """What had to be typed again in all of them."""
    return sum((life.again for life in lives), Counter[str]())
