"""Help of a command: its prose, the table of what it reads, prints and refuses, its examples, and how it exits, all
within the terminal's width.

Each example is a whole line for a shell, in which 7 is a bounty and $ACCOUNT, $SOLVER and $COMMITMENT are values of
one's own.
"""

import re
from inspect import cleandoc
from textwrap import wrap
from typing import Final

import click

_TABLE: Final = "\b\nReads:"
_HEADING: Final = re.compile(r"(Reads|Defaults|Prints|Refuses|Examples|Exit):\s+")
_EVENT: Final = re.compile(r"[a-z_]+\.[a-z_]+\b")
_COLUMN: Final = 10
_EXIT: Final = "Exit:     0 done, 1 refused or failed, 2 usage, 130 or 143 interrupted"


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
                for line in _laid_out(f"Reads:{table}\n{_EXIT}", formatter.width - formatter.current_indent):
                    formatter.write(f"{margin}{line}\n")


def _laid_out(table: str, width: int) -> list[str]:
    """The table's entries, each wrapped beside its heading; an event begins a line of its own."""
    lines: list[str] = []
    for heading, text in _entries(table):
        first = f"{heading}:".ljust(_COLUMN) if heading else " " * _COLUMN
        if text.startswith("service-cli "):  # to be copied as it is
            lines.append(first + text)
            continue
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
        elif (section == "Prints" and _EVENT.match(line)) or (section == "Examples" and line):
            found.append(("", line))
        elif line:
            name, text = found[-1]
            found[-1] = (name, f"{text} {line}")
    return found
