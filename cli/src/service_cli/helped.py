"""Help of a command: its prose, and the table of what it reads, prints and refuses, within the terminal's width."""

import re
from inspect import cleandoc
from textwrap import wrap
from typing import Final

import click

_TABLE: Final = "\b\nReads:"
_HEADING: Final = re.compile(r"(Reads|Defaults|Prints|Refuses):\s+")
_EVENT: Final = re.compile(r"[a-z_]+\.[a-z_]+\b")
_COLUMN: Final = 10


class HelpedCommand(click.Command):
    """A command whose help wraps."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        whole = self.help or ""
        prose, mark, table = cleandoc(whole).partition(_TABLE)
        self.help = prose.rstrip()
        try:
            super().format_help_text(ctx, formatter)
        finally:
            self.help = whole
        if mark:
            formatter.write_paragraph()
            with formatter.indentation():
                margin = " " * formatter.current_indent
                for line in _laid_out("Reads:" + table, formatter.width - formatter.current_indent):
                    formatter.write(f"{margin}{line}\n")


def _laid_out(table: str, width: int) -> list[str]:
    """The table's entries, each wrapped beside its heading; an event begins a line of its own."""
    lines: list[str] = []
    for heading, text in _entries(table):
        first = f"{heading}:".ljust(_COLUMN) if heading else " " * _COLUMN
        rest = " " * (_COLUMN + (2 if _EVENT.match(text) else 0))
        lines += wrap(text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return lines


def _entries(table: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    section = ""
    for raw in table.splitlines():
        line = raw.strip()
        if heading := _HEADING.match(line):
            section = heading[1]
            found.append((section, line[heading.end() :]))
        elif section == "Prints" and _EVENT.match(line):
            found.append(("", line))
        elif line:
            name, text = found[-1]
            found[-1] = (name, f"{text} {line}")
    return found
