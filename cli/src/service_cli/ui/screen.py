"""Events as text at a terminal: a sentence, below it labels and values; events that repeat are the rows of a table.

Everything is made of an event's fields and their types. What others wrote passes ``printable`` first, since the library
that lays the text out lets through what drives a terminal. An event of another shape, from an API that is wrong on
purpose, is shown as JSON instead.
"""

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum
from string import Formatter
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TextIO, cast

from bounty_protocol.errors import ServiceError
from bounty_protocol.shapes import Kind, ListOf, MapOf, Nested, OneOf, Scalar, parts
from bounty_protocol.types import TokenAmount, UnixSeconds, Wei

from service_cli.ui.text import Token, duration, ether, moment, printable, relative, short, size, tokens

if TYPE_CHECKING:
    from service_cli.ui.event import Event

_MOST_CHARACTERS: Final = 600
_MOST_OF_A_DOCUMENT: Final = 256 * 1024
_MOST_LINES: Final = 10_000
_UNIT: Final = re.compile("_(address|seconds|at)$")
_AMOUNTS: Final = {"escrow_amount", "amount", "refund"}
"""Names of amounts among the fields of the Hub's events, which have no types here."""
_LABELS: Final = {
    "bounty_id": "Bounty",
    "tx_hash": "Transaction",
    "block_number": "Block",
    "byte_length": "Size",
    "balance_wei": "Ether",
    "gas_cost_at_most": "Gas, at most",
    "submission_commitment": "Submission",
    "spec_commitment": "Commitment",
    "report_commitment": "Reasons",
    "submission_deadline": "Submissions until",
    "reveal_at": "Sealed until",
    "judging_deadline": "Judging until",
}
_STYLES: Final = {"Done.": "green", "Ready.": "green", "ok": "green", "Not": "red", "FAIL": "red", "Careful:": "red"}
"""By the first word of a sentence, which says the same without colour."""


class ShownField(NamedTuple):
    """A field that is shown: its value as text, and briefly in a table; or the objects that it holds."""

    label: str
    text: str
    brief: str = ""
    rows: tuple[object, ...] = ()


class Screen:
    """The text of a run's events, with the rows that wait for their table to end."""

    def __init__(self, stdout: TextIO, *, colours: bool) -> None:
        from rich.console import Console

        self._console = Console(
            file=stdout, color_system="auto" if colours else None, highlight=False, markup=False, emoji=False
        )
        self.token: Callable[[], Token] | None = None
        self.now: int | None = None
        """The chain's time; else this machine's is shown by."""
        self._rows: list[Event] = []
        self._begun = self._had_facts = False

    def show(self, event: "Event", following: str | None) -> str:
        """Return the text of an event that is printed now, and the command that comes next."""
        with self._console.capture() as made:
            if event.TABLE:
                if self._rows and type(self._rows[0]) is not type(event):
                    self._table_of_events()
                self._facts(event)  # whatever is wrong with a row is found now, and not at the table's end
                self._rows.append(event)
            else:
                self._table_of_events()
                self._block(event, following)
        return _without_blanks(made.get())

    def rest(self) -> str:
        """Return the table that has not ended yet."""
        with self._console.capture() as made:
            self._table_of_events()
        return _without_blanks(made.get())

    def _block(self, event: "Event", following: str | None) -> None:
        from rich.text import Text

        said, facts, document = self._sentence(event), self._facts(event), event.document()
        has_facts = bool(facts) or document is not None
        if self._begun and (has_facts or self._had_facts):
            self._console.print()
        self._begun, self._had_facts = True, has_facts
        if said:
            first = said.partition(" ")[0]
            lines = wrap(said, self._console.width, break_long_words=False, break_on_hyphens=False)
            text = "\n".join(lines)  # a path stays whole, to be copied
            styled = Text.assemble((first, _STYLES.get(first, "")), text.removeprefix(first))
            self._console.print(styled, soft_wrap=True)
        self._labelled([fact for fact in facts if not fact.rows])
        for fact in facts:
            if fact.rows:
                self._console.print(Text(f"\n{fact.label}", style="bold"))
                self._table([list(self._facts_of(row)) for row in fact.rows])
        if document is not None:
            self._document(document)
        if following is not None:
            if document is not None or any(fact.rows for fact in facts):
                self._console.print()
            self._labelled([ShownField("Next", following)], max(len(fact.label) for fact in facts) if facts else 0)

    def _labelled(self, facts: list[ShownField], least: int = 0) -> None:
        """Lay out labels and values in two columns; a command or a hash that does not fit gets its own line."""
        from rich.text import Text

        column = max((len(fact.label) for fact in facts), default=0)
        column = max(column, least) + 2
        room = max(20, self._console.width - column - 1)
        for fact in facts:
            label = Text(f" {fact.label:<{column - 1}} ", style="dim")
            is_whole = " " not in fact.text or fact.text.startswith("service-cli ")
            lines = [fact.text] if is_whole else wrap(fact.text, room, break_long_words=False) or [""]
            if is_whole and len(fact.text) > room:
                self._console.print(label, soft_wrap=True)
                self._console.print(Text(f"   {fact.text}"), soft_wrap=True)
                continue
            for at, line in enumerate(lines):
                self._console.print(Text.assemble(label if not at else " " * (column + 1), line), soft_wrap=True)

    def _table_of_events(self) -> None:
        rows, self._rows = self._rows, []
        if rows:
            if self._begun:
                self._console.print()
            self._begun = self._had_facts = True
            self._table([self._facts(row) for row in rows])

    def _table(self, rows: list[list[ShownField]]) -> None:
        """Lay out one table under its titles; cut hashes and accounts, give the last column what is left."""
        from rich.table import Table
        from rich.text import Text

        titles: list[str] = []
        for row in rows:  # a row has only fields with a value, in the order of its shape
            for at, fact in enumerate(row):
                if fact.label not in titles:
                    titles.insert(titles.index(row[at - 1].label) + 1 if at else 0, fact.label)
        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
        for title in titles:
            table.add_column(title, overflow="fold", no_wrap=title != titles[-1])
        for row in rows:
            cells = {fact.label: fact.brief for fact in row}
            table.add_row(*(Text(cells.get(title, "")) for title in titles))
        self._console.print(table)

    def _document(self, document: str) -> None:
        """Lay out a stranger's text unchanged, with a bar before each line, so that it cannot be mistaken for the
        client's.
        """
        from rich.text import Text

        self._console.print()
        lines = document[:_MOST_OF_A_DOCUMENT].splitlines()
        for line in lines[:_MOST_LINES]:
            shown = printable(line.expandtabs(4), len(line) + 1).rstrip()
            pieces = wrap(shown, max(20, self._console.width - 2), drop_whitespace=False) or [""]
            for at, piece in enumerate(pieces):
                said = piece.strip() if at else piece.rstrip()
                self._console.print(Text.assemble(("|", "dim"), f" {said}".rstrip()), soft_wrap=True)

    def _sentence(self, event: "Event") -> str:
        template = event.says()
        known = {part.name: part.kind for part in parts(cast("type", type(event)))}
        values = dict[str, str]()
        for name in _names_in(template):
            if name in known:
                values[name] = self._text(name, known[name], getattr(event, name))
            else:
                values[name] = self._field_of_hub(name, cast("Any", event).more.get(name))
        return template.format(**values)

    def _field_of_hub(self, name: str, value: object) -> str:
        if name in _AMOUNTS:
            return self._tokens(int(str(value)))
        return short(printable(value, 80))

    def _facts(self, event: "Event") -> list[ShownField]:
        said = {*_names_in(event.says()), *event.HIDES}
        facts = event.facts(self._now())
        return [] if facts is None else list(self._facts_of(facts, said if facts is event else ()))

    def _facts_of(self, shape: object, left_out: Collection[str] = ()) -> Iterator[ShownField]:
        for part in parts(cast("type", type(shape))):
            value, kind = getattr(shape, part.name), part.kind
            is_nothing = value is None or value == () or (value == 0 and kind == Scalar(int))
            if is_nothing or part.name in left_out or isinstance(kind, MapOf):
                continue
            label = _LABELS.get(part.name) or _UNIT.sub("", part.name).replace("_", " ").capitalize()
            if isinstance(kind, Nested):
                yield ShownField(label, "", rows=(value,))
            elif isinstance(kind, ListOf) and isinstance(kind.of, Nested):
                yield ShownField(label, "", rows=tuple(value))
            elif text := self._text(part.name, kind, value):
                is_moment = isinstance(kind, Scalar) and kind.of is UnixSeconds
                yield ShownField(label, text, relative(value, self._now()) if is_moment else short(text))

    def _text(self, name: str, kind: Kind, value: Any) -> str:
        if isinstance(kind, ListOf):
            return ", ".join(self._text(name, kind.of, each) for each in value or ())
        shown = self._BY_TYPE.get(kind.of) if isinstance(kind, Scalar) else None
        if value is None:
            return ""
        if shown is not None:
            return shown(self, value)
        if name == "byte_length":
            return size(value)
        if name.endswith("_seconds"):
            return duration(value)
        if isinstance(value, Mapping):
            value = ", ".join(f"{key} {each}" for key, each in value.items())
        text = printable(value, _MOST_CHARACTERS)
        return text.replace("_", " ") if isinstance(value, Enum) or isinstance(kind, OneOf) else text

    def _moment(self, value: int) -> str:
        return moment(value, self._now())

    def _tokens(self, value: int) -> str:
        """Format ``1,234.5 USDC``; base units if the token does not describe itself."""
        try:
            token = None if self.token is None else self.token()
        except ServiceError:
            token = None
        return tokens(value, token)

    def _now(self) -> int:
        return int(time.time()) if self.now is None else self.now

    _BY_TYPE: ClassVar[Mapping[Any, Callable[["Screen", Any], str]]] = {
        TokenAmount: _tokens,
        UnixSeconds: _moment,
        Wei: lambda _, value: ether(value),
        bool: lambda _, value: "yes" if value else "no",
    }


def _without_blanks(text: str) -> str:
    """Remove the trailing blanks with which a table is padded."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _names_in(template: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(template) if name]
