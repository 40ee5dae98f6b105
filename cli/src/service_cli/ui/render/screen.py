"""The screen that text is laid out for: its width, its colours, and how lines, facts and tables fit into it.

Where stdout is no terminal nothing is cut, and prose is wrapped at 80 columns. Colour repeats what the text states; it
is never the only sign. A command or a hash is never broken: it would not be copied whole.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from service_cli.ui.items import Column, Field, Heading, Item, Quoted, Row, Whole
from service_cli.ui.text import NOTHING, About

PROSE: Final = 80
_CODES: Final = re.compile("\x1b\\[[0-9]*m")
_UNBROKEN: Final = re.compile(
    r"service-cli [^\s]+(?: [0-9]+)?|[0-9][0-9,.]* [A-Za-z]{1,20}(?![^\s.,;:)])[.,;:)]*|[^\s]+"
)
_LABEL: Final = 12
_GAP: Final = 2
_LEAST: Final = 6
"""Columns that a column of a table keeps however narrow the screen is."""
_READABLE: Final = 20
"""Columns that the flexible one keeps where an optional one can go."""


def width(text: str) -> int:
    """Columns that a terminal takes for it: two for a wide character, none for a mark or a colour's code."""
    return sum(_columns(character) for character in _CODES.sub("", text))


def _columns(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


@dataclass(frozen=True, slots=True)
class Screen:
    """The terminal that text is laid out for; ``columns`` is None where nothing has to be cut."""

    columns: int | None
    colours: bool
    now: int
    about: About = NOTHING
    """Context of the event that is shown."""

    def strong(self, text: str) -> str:
        """Style of the most important text."""
        return self._coded(text, 1)

    def quiet(self, text: str) -> str:
        """Style of the least important text."""
        return self._coded(text, 2)

    def good(self, text: str) -> str:
        """Style of success."""
        return self._coded(text, 32)

    def bad(self, text: str) -> str:
        """Style of failures and warnings."""
        return self._coded(text, 31)

    def _coded(self, text: str, code: int) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colours and text else text

    @property
    def prose(self) -> int:
        """Columns of a line of prose."""
        return max(20, self.columns or PROSE)

    def lines(self, item: Item) -> Iterable[str]:
        """One item as lines."""
        match item:
            case Whole(text):
                yield text
            case Heading(text):
                yield self.strong(text)
            case Quoted():
                yield from self._quoted(item)
            case Field(label, text, whole):
                yield from self._fact(label, text, whole=whole)
            case str(text):
                yield from wrapped(text, self.prose)

    def _fact(self, label: str, text: str, *, whole: bool) -> Iterable[str]:
        begin, below = f" {self.quiet(label.ljust(_LABEL))} ", "   "
        if not label:
            yield from wrapped(text, self.prose, below, first=" ")
        elif not whole and self.prose >= 4 * _LABEL:
            yield from wrapped(text, self.prose, " " * width(begin), first=begin)
        elif not whole:  # too narrow for two columns
            yield from wrapped(text, self.prose, below, first=f" {self.quiet(label)} ")
        elif self.columns is None or width(begin) + width(text) <= self.columns:
            yield begin + text
        else:
            yield from (f" {self.quiet(label)}", below + text)

    def _quoted(self, item: Quoted) -> Iterable[str]:
        bar = f"{self.quiet('|')} "
        if item.verbatim:
            yield (bar + item.begin + item.text).rstrip()
            return
        lines = wrapped(item.text, self.prose, bar + item.after, first=bar + item.begin)
        yield from (self.strong(line) for line in lines) if item.strong else lines

    def table(self, columns: Sequence[Column], rows: Sequence[Row]) -> Iterable[str]:
        """The rows of one table under its titles, within the screen's width where it has one."""
        titles = Row(tuple(columns), tuple(self.quiet(column.title) for column in columns))
        taken = [max(width(row.cells[at]) for row in (titles, *rows)) for at in range(len(columns))]
        kept = [at for at in range(len(columns)) if any(row.cells[at] for row in rows)]
        if self.columns is not None:
            kept = _fitting(columns, taken, kept, self.columns)
            _shrink(columns, taken, kept, self.columns)
        for row in (titles, *rows):
            cells = [padded(cut(row.cells[at], taken[at]), taken[at]) for at in kept]
            yield (" " * _GAP).join(cells).rstrip()
            if row.note:
                yield f"  {row.note}"


def _room(taken: Sequence[int], kept: Sequence[int]) -> int:
    return sum(taken[at] for at in kept) + _GAP * (len(kept) - 1)


def _fitting(columns: Sequence[Column], taken: Sequence[int], kept: list[int], most: int) -> list[int]:
    """Without the optional columns that leave too little to the flexible one."""
    for number in sorted({columns[at].optional for at in kept} - {0}, reverse=True):
        least = [min(each, _READABLE) if columns[at].flexible else each for at, each in enumerate(taken)]
        if _room(least, kept) <= most:
            break
        kept = [at for at in kept if columns[at].optional != number]
    return kept


def _shrink(columns: Sequence[Column], taken: list[int], kept: Sequence[int], most: int) -> None:
    """Cut the flexible column, then the widest ones, until the table fits."""
    order = [at for at in kept if columns[at].flexible]
    while (over := _room(taken, kept) - most) > 0:
        widest = order.pop() if order else max(kept, key=lambda at: taken[at])
        if taken[widest] <= _LEAST:
            if not order and all(taken[at] <= _LEAST for at in kept):
                return
            continue
        taken[widest] = max(_LEAST, taken[widest] - over)


def padded(text: str, columns: int) -> str:
    """Text filled with blanks."""
    return text + " " * (columns - width(text))


def cut(text: str, columns: int) -> str:
    """Text of at most this many columns; what is cut ends with ``…``."""
    if width(text) <= columns:
        return text
    kept, left = "", columns - 1
    for character in _CODES.sub("", text):
        if (left := left - _columns(character)) < 0:
            break
        kept += character
    return kept + "…"


def wrapped(text: str, columns: int, indent: str = "", first: str | None = None) -> Iterable[str]:
    """Prose in lines of at most this many columns; a longer word has a line of its own and is not broken.

    An amount and its unit, and the begin of a command, stay on one line.
    """
    line = indent if first is None else first
    used, begun = width(line), False
    for word in _UNBROKEN.findall(text):
        size = width(word)
        if begun and used + 1 + size > columns:
            yield line
            line, used, begun = indent, width(indent), False
        line, used, begun = (f"{line} {word}", used + 1 + size, True) if begun else (line + word, used + size, True)
    if begun or first is not None:
        yield line.rstrip()
