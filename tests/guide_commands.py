"""A guide as a list of commands: fenced blocks of Markdown, each command with the screen that the page shows for it.

In a ``console`` block a line that begins with ``$`` is typed, and the lines after it are its screen. In a ``sh`` block
every line is typed and no screen is shown."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TOP: Final = Path(__file__).parents[1]
_FENCE: Final = re.compile(r"```(console|sh)\n(.*?)```\n", re.DOTALL)
_HEADING: Final = re.compile(r"(?m)^#+ (.*)$")


@dataclass(frozen=True, slots=True)
class TypedCommand:
    """A command of a page, the heading that it is below, and its screen; None where the page shows none."""

    page: str
    heading: str
    line: str
    screen: str | None

    def __str__(self) -> str:
        return f"{self.page}: {self.heading}: {self.line}"


def commands_of(page: str, text: str | None = None) -> Iterator[TypedCommand]:
    """Every command of a page, in its order; ``page`` is its path in the repository."""
    text = read(page) if text is None else text
    for fence in _FENCE.finditer(text):
        headings = _HEADING.findall(text, 0, fence.start())
        heading = headings[-1] if headings else ""
        for line, screen in _typed(fence[1], fence[2]):
            yield TypedCommand(page, heading, line, screen)


def _typed(language: str, body: str) -> Iterator[tuple[str, str | None]]:
    if language == "sh":
        yield from ((line, None) for line in body.splitlines() if line and not line.startswith("#"))
        return
    for part in re.split(r"(?m)^\$ ", body)[1:]:
        line, _, screen = part.partition("\n")
        yield line, screen


def read(page: str) -> str:
    """The text of a page of the repository."""
    return (TOP / page).read_text(encoding="utf-8")
