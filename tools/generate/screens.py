"""docs/screens.md: what the commands of the tour print with ``--text``."""

from collections.abc import Iterator
from typing import Final

from tests.cli.tour import TOUR, screen_of
from tools.generate.derived import part


def _screens() -> Iterator[str]:
    for typed in (each for each in TOUR if each.line.startswith("service-cli")):  # an audit's is played
        yield f"```text\n$ {typed.line} --text\n{screen_of(typed)}```"


SCREENS: Final = part("docs/screens.md", "screens", _screens)
