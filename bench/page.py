"""What an act on the pages asks of a person: presses of a button, questions of the wallet, and seconds.

Counted from opening the page, with connecting the wallet, in headless Chromium on a local stack with five blocks a
second; nobody reads meanwhile and the wallet answers at once, so that the seconds are those of the programs and the
chain.
Filling in fields counts as no press, a button that is pressed again before the page went on as two.
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from demo.bounty import Cast
from local_stack.stack import StackSettings, running_stack

from bench.figures import Figure, Report, median
from tests.e2e.wallet_acts import SAVED, Act, Bounties, claim, judge, open_work, publish, submit
from tests.e2e.wallet_pages import wallet_of
from tests.pages.driver import Browser, browsing

ROUNDS: Final = 3
PATIENCE_SECONDS: Final = 60
ACTS: Final[tuple[tuple[str, Callable[[Bounties], Act], str, int], ...]] = (
    ("funded", publish, "has its page in a moment", 5),
    ("submitted", submit, "is recorded", 6),
    ("opened", open_work, SAVED, 5),
    ("judged", judge, "Your Verdict is recorded", 6),
    ("claimed", claim, "Paid: ", 2),
)
"""What is reached, by whose act, the text that shows it, and the most presses."""


def run(report: Report) -> None:
    """Measure the group."""
    with (
        running_stack(StackSettings(solvers=3)) as stack,
        tempfile.TemporaryDirectory() as folder,
        browsing(Path(folder)) as browser,
    ):
        cast = Cast(stack, Path(folder))
        rounds = [Bounties(cast, _folder(folder, number)) for number in range(ROUNDS)]
        for name, make, end, most in ACTS:
            done = [_done(browser, cast, replace(make(bounties), ends=(end,))) for bounties in rounds]
            presses, asked = max(each[1] for each in done), max(each[2] for each in done)
            goal = f"at most {most} presses; here {presses}, and {asked} questions of the wallet"
            seconds = median([each[0] for each in done])
            report(Figure(f"page.acts_{name}", seconds, "s", goal, presses <= most))


def _folder(folder: str, number: int) -> Path:
    made = Path(folder) / str(number)
    made.mkdir()
    return made


def _done(browser: Browser, cast: Cast, act: Act) -> tuple[float, int, int]:
    """Seconds, presses and questions of the wallet until it is done."""
    wallet, began = wallet_of(cast, act.who), time.monotonic()
    page = browser.open(f"{cast.stack.pages_url}{act.path}", wallet, fresh=True, fixed_lots=False)
    page.connect()
    done = page.do("act", buttons=act.buttons, fields=act.fields, ends=act.ends, patience=PATIENCE_SECONDS * 1_000)
    seconds = time.monotonic() - began
    if done["ended"] not in act.ends:
        raise RuntimeError(f"an act on {act.path} ended with: {done['ended']}")
    asked = len(page.asked())
    page.close()
    return seconds, done["presses"] + 1, asked  # one more connected the wallet
