"""The template of a challenge page.

A written template has the frontmatter's exact fields; what must be filled in is in angle brackets, and is named one by
one before anything is signed for the page.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from service_common.errors import Issue
from service_common.types import TokenAmount, UnixSeconds

from service_cli.errors import CommandRefused
from service_cli.shell.output import warn

_ESCROW: Final = TokenAmount(25_000_000)
_SUBMISSION_SECONDS: Final = 14 * 86_400
_TEMPLATE: Final = """---
version: 1
title: <what is to be made, in one line>
summary: <what it does and for whom, in two or three sentences>
escrow_amount: {escrow}
submission_deadline: {deadline}
judging_window_seconds: {judging}
acceptance_criteria:
  - "<a check that two people would decide the same way: a command and what it prints>"
  - "<another>"
deliverables:
  - "<a file that the Submission contains, by name>"
language: en
---
# <title>

<What is asked, what exists already, and what a Guardian does to check each criterion.>

escrow_amount is in the smallest units of the escrow token (25000000 is 25 USDC); submission_deadline is in seconds
since 1970. Remove this paragraph.
"""


_PLACEHOLDERS: Final = tuple(re.findall(r"<[^<>\n]+>", _TEMPLATE))
_LEFTOVER: Final = "is in the smallest units of the escrow token ("
_IN_BRACKETS: Final = re.compile(r"<[^<>]+>")
_LINES: Final = frozenset(line.strip() for line in _TEMPLATE.splitlines())


def require_filled(page: bytes) -> None:
    """Refuse a page on which something of the template is left, naming each; note what only looks like it."""
    issues, notes = [], []
    for number, line in enumerate(page.decode("utf-8", "replace").splitlines(), 1):
        for found in _IN_BRACKETS.findall(line):
            if found in _PLACEHOLDERS and (" " in found or line.strip() in _LINES):
                issues.append(Issue(f"line {number}", f"still the template's {found}"))
            elif " " in found and not set(found) & set("=/@`"):
                notes.append(f"line {number} holds {found[:80]}")
        if _LEFTOVER in line:
            issues.append(Issue(f"line {number}", "still the template's paragraph on units: remove it"))
    for note in notes:
        warn(f"note: {note}; is that still to be filled in?")
    if issues:
        message = "The page is not filled in: something of the template still stands on it."
        raise CommandRefused(
            "page_unfinished", message, issues=issues, next_action="Fill it in, then run --check again."
        )


@dataclass(frozen=True, slots=True)
class TemplateTerms:
    """What a Poster may decide before the page is written; ``deadline`` is in two weeks unless given."""

    escrow: TokenAmount = _ESCROW
    deadline: UnixSeconds | None = None
    judging: int = 3 * 86_400


def write_template(path: Path, now: int, terms: TemplateTerms = TemplateTerms()) -> None:
    """Write it where nothing is yet."""
    deadline = now + _SUBMISSION_SECONDS if terms.deadline is None else terms.deadline
    text = _TEMPLATE.format(escrow=terms.escrow, deadline=deadline, judging=terms.judging)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        message = f"{path} exists already."
        raise CommandRefused("file_exists", message, next_action="Name another path, or move it away.") from None
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}."
        raise CommandRefused("file_unwritable", message, next_action="Check the path.") from None
