"""The parts of an event's text: lines, facts, rows of a table. ``render/screen`` lays it out."""

from typing import NamedTuple


class Field(NamedTuple):
    """A label and what belongs to it, beside each other; ``whole`` is not wrapped, to be copied as it is.

    Without a label it is an entry of a section.
    """

    label: str
    text: str
    whole: bool = False


class Heading(NamedTuple):
    """A heading."""

    text: str


class Whole(NamedTuple):
    """A line that is not wrapped."""

    text: str


class Quoted(NamedTuple):
    """A line of a stranger's document, behind a bar: it cannot be taken for one of ours."""

    text: str
    begin: str = ""
    """The prefix of its first line, such as the mark of a list."""
    after: str = ""
    """The prefix of its wrapped lines."""
    verbatim: bool = False
    """Not wrapped: code."""
    strong: bool = False


class Column(NamedTuple):
    """A column of a table. Where the screen is too narrow, optional columns go first, then the flexible one is cut."""

    title: str
    optional: int = 0
    """The order of removal where space is short: the highest number goes first; 0 stays."""
    flexible: bool = False


class Row(NamedTuple):
    """A row of the table with these columns; rows of one table that follow each other are laid out together.

    What a stranger wrote is in the last column: text from right to left then cannot move what others wrote.
    """

    columns: tuple[Column, ...]
    cells: tuple[str, ...]
    note: str = ""
    """Below the row and never cut: a command to be copied."""


Item = str | Field | Heading | Whole | Quoted
Shown = Item | Row
