"""The texts of a run's events, one after the other.

Rows that follow each other become a table, blocks are set apart. An
event whose text cannot be made (a field of another shape, from an API that is wrong on purpose) is printed as JSON:
what happened is never hidden by how it is shown.
"""

import os
import time
from collections.abc import Callable, Iterable
from typing import TextIO

from bounty_protocol.errors import ServiceError

from service_cli.ui.event import Event
from service_cli.ui.items import Column, Heading, Item, Row, Shown
from service_cli.ui.phrases import made_safe
from service_cli.ui.render.screen import Screen
from service_cli.ui.text import NOTHING, About, FindAbout


class Printer:
    """Printer of a run's text, with the rows that wait for their table to end."""

    def __init__(self, screen: Callable[[About], Screen]) -> None:
        self._screen = screen
        self._columns: tuple[Column, ...] = ()
        self._rows: list[Row] = []
        self._begun = self._in_block = False

    def show(self, event: Event, about: FindAbout | None, as_json: Callable[[], str]) -> str:
        """The text of this event that is printed now; ``as_json`` where it cannot be put into text."""
        try:
            known = _found_out(about)
            screen = self._screen(known)
            return self._text(list(made_safe(event).text(screen)), screen)
        except Exception:  # noqa: BLE001  # whatever is wrong with its text, the event itself is not lost
            return self.rest() + as_json()

    def rest(self) -> str:
        """The table that has not ended yet."""
        if not self._rows:
            return ""
        columns, rows, self._columns, self._rows = self._columns, self._rows, (), []
        return self._apart(list(self._screen(NOTHING).table(columns, rows)), block=True)

    def _text(self, items: Iterable[Shown], screen: Screen) -> str:
        text, plain = "", list[Item]()
        for item in items:
            if isinstance(item, Row):
                text += self._block(plain, screen)
                if item.columns != self._columns:
                    text += self.rest()
                    self._columns = item.columns
                self._rows.append(item)
                plain = []
            else:
                if not plain:
                    text += self.rest()
                plain.append(item)
        return text + self._block(plain, screen)

    def _block(self, items: list[Item], screen: Screen) -> str:
        if not items:
            return ""
        lines: list[str] = []
        for item in items:
            if isinstance(item, Heading) and lines:
                lines.append("")
            lines += screen.lines(item)
        return self._apart(lines, block=len(items) > 1)

    def _apart(self, lines: list[str], *, block: bool) -> str:
        """Lines with an empty one between a block and what is above it or below."""
        above = "\n" if self._begun and (block or self._in_block) else ""
        self._begun, self._in_block = True, block
        return above + "".join(f"{line}\n" for line in lines)


def printer_of(stdout: TextIO, *, colours: bool) -> Printer:
    """A printer for this standard output: its width and colours where it is a terminal."""
    terminal = stdout is not None and stdout.isatty()
    coloured = colours and terminal and are_wanted()

    def screen(about: About) -> Screen:
        now = int(time.time()) if about.now is None else about.now
        return Screen(_columns(stdout) if terminal else None, coloured, now, about)

    return Printer(screen)


def are_wanted() -> bool:
    """Whether the environment lets a terminal have colours."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _columns(stdout: TextIO) -> int | None:
    """Columns of the terminal; ``COLUMNS`` wins, as everywhere."""
    set_by_hand = os.environ.get("COLUMNS", "")
    if set_by_hand.isascii() and set_by_hand.isdigit() and 0 < int(set_by_hand[:6]) < 10_000:
        return int(set_by_hand)
    try:
        return os.get_terminal_size(stdout.fileno()).columns or None
    except (OSError, ValueError, AttributeError):
        return None


def _found_out(about: FindAbout | None) -> About:
    """Context of the event; empty where it cannot be read, since the event has happened."""
    try:
        return NOTHING if about is None else about()
    except ServiceError:
        return NOTHING
