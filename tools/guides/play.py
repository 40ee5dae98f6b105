"""Play the tour and the guides on a local stack, typed word by word from the documents.

All of it happens to one stack: the tour is bounty 1, and the guides of Poster, Solver and Guardian are bounty 7, in the
order in which its people would type. The clocks of chain and beacon are moved together, so that days pass in a moment.
Without ``--write`` a screen that states something else than the page shows is an error; with it the page is changed.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from demo.bounty import Cast
from demo.person import UnexpectedEnd
from local_stack.stack import StackSettings, running_stack

from tools.guides.document import TOP, commands_of, read, with_screens
from tools.guides.played_stack import Page, PlayedStack
from tools.guides.screens import normalized

TOUR: Final = "docs/tour.md"
POSTER: Final = "docs/guides/poster.md"
SOLVER: Final = "docs/guides/solver.md"
GUARDIAN: Final = "docs/guides/guardian.md"
INTEGRATOR: Final = "docs/guides/integrator.md"
SCREENS: Final = "docs/screens.md"
SHOWN: Final = 7
"""The number of the guides' bounty."""


def play_tour(stage: PlayedStack) -> None:
    """The tour: bounty 1."""
    page = Page(TOUR)
    page.take(1)  # the stack runs already
    stage.play("poster", *page.take(2))
    stage.play("solver-1", *page.take(1))
    stage.advance_to(stage.times(1)[0])
    judging = page.take(4)
    for guardian in ("guardian-1", "guardian-2"):
        stage.play(guardian, *judging)
    stage.wait_for_final()
    for person in ("solver-1", "guardian-1", "poster", "solver-2", "solver-2"):
        stage.play(person, *page.take(1))
    page.finish()
    stage.play("solver-2", *Page(SCREENS).below("An audit's screen"))


def pass_the_numbers(stage: PlayedStack) -> None:
    """Fund what lies between the tour's bounty and the guides', and let it end."""
    made = [stage.cast.fund(submission_seconds=120, judging_seconds=3_600) for _ in range(2, SHOWN)]
    if made[-1].bounty_id != str(SHOWN - 1):
        raise UnexpectedEnd(f"the last of the others is bounty {made[-1].bounty_id}")
    stage.advance_to(made[-1].judging_deadline)
    for each in made:
        stage.wait_until_over(int(each.bounty_id))
        stage.cast.person("poster").run("claim", each.bounty_id)


def play_guides(stage: PlayedStack) -> None:
    """One bounty by the guides of its three roles, and the integrator's page beside it."""
    poster, solver, guardian, integrator = (Page(name) for name in (POSTER, SOLVER, GUARDIAN, INTEGRATOR))
    stage.play("poster", *poster.below("1. Write the page"))
    first, *checks = poster.below("2. Check it")
    stage.play("poster", first, code=1)  # what is left of the template is refused
    stage.fill_in("page.md")
    stage.play("poster", *checks, *poster.below("3. Publish and fund"))
    stage.wait_for_index()
    for heading in ("1. Find a bounty and read it", "2. See what would be sealed", "3. Submit"):
        stage.play("solver-1", *solver.below(heading))
    stage.wait_for_index()
    stage.play("poster", *poster.below("4. Follow it"))
    template, check = integrator.below("3. Check a page in your own pipeline")
    stage.play("solver-2", *integrator.below("1. Read"), template)
    stage.play("solver-2", check, code=1)

    stage.play("guardian-1", *guardian.below("Guide for a Guardian"))
    stage.advance_to(stage.times(SHOWN)[0])
    judging = [
        command
        for heading in ("1. See what waits", "2. Open everything", "3. Judge")
        for command in guardian.below(heading)
    ]
    stage.play("guardian-2", *judging)
    stage.play("guardian-1", *judging)
    stage.wait_for_final()
    stage.play("solver-1", *solver.below("4. Claim"))
    stage.play("guardian-1", *guardian.below("4. Deliver the key of the winning work, and claim"))
    stage.play("poster", *poster.below("5. Take the work, or the money"))
    stage.wait_for_final()
    stage.play("solver-2", *integrator.below("5. Trust nobody"))
    for page in (poster, solver, guardian, integrator):
        page.finish()


def differing(page: str, screens: Mapping[str, str]) -> dict[str, str]:
    """The screens that state something else than the page shows, by the line that was typed."""
    shown = {each.line: each.screen for each in commands_of(page) if each.screen is not None}
    return {
        line: screen for line, screen in screens.items()
        if line in shown and normalized(screen) != normalized(shown[line])
    }  # fmt: skip


def main() -> int:
    """Play everything; 1 where a page is wrong."""
    parser = argparse.ArgumentParser(prog="guides", description="Play the tour and the guides.")
    parser.add_argument("--write", action="store_true", help="put the screens that differ into the pages")
    parser.add_argument("--shell", default="/bin/bash", help="the shell that people use")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        settings = StackSettings(env_file=folder / "stack.env")
        with running_stack(settings) as stack:
            stage = PlayedStack(Cast(stack, folder / "people"), options.shell)
            play_tour(stage)
            pass_the_numbers(stage)
            play_guides(stage)
    wrong = 0
    for page, screens in stage.screens.items():
        found = differing(page, screens)
        for line, screen in found.items():
            sys.stdout.write(f"{page}: $ {line}\n{screen}")
        if found and options.write:
            (TOP / page).write_text(with_screens(read(page), found), encoding="utf-8")
        wrong += len(found)
    sys.stdout.write(
        f"{stage.played} commands played, {wrong} screens {'written anew' if options.write else 'differ'}\n"
    )
    return 0 if options.write or not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
