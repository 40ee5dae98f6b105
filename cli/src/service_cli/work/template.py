"""The template of a challenge page.

A written template has the frontmatter's exact fields; what must be filled in is in angle brackets, and is named one by
one before anything is signed for the page.
"""

import re
from collections.abc import Iterator
from typing import Final

from bounty_protocol.errors import Issue
from bounty_protocol.types import TokenAmount, UnixSeconds

from service_cli.errors import CommandRefused

_ESCROW: Final = TokenAmount(25_000_000)
_SUBMISSION_SECONDS: Final = 14 * 86_400
_JUDGING_SECONDS: Final = 3 * 86_400
_LEFTOVER: Final = "is in the smallest units of the escrow token ("
_UNITS: Final = (
    f"escrow_amount {_LEFTOVER}25000000 is 25 USDC); submission_deadline is in seconds\n"
    "since 1970. Remove this paragraph."
)


_TITLE: Final = "<what should be made, in one line>"
_SUMMARY: Final = "<what it does and for whom, in two or three sentences>"
_CRITERIA: Final = (
    "<a check that two people would decide the same way: a command and what it prints>",
    "<another>",
)
_DELIVERABLE: Final = "<a file that the Submission contains, by name>"
_BODY: Final = ("<title>", "<What is asked, what exists already, and what a Guardian does to check each criterion.>")


def template(
    now: int, escrow: TokenAmount | None = None, deadline: UnixSeconds | None = None, judging: int | None = None
) -> str:
    """Return a page with the Poster's choices, or the usual values, whose text must be filled in; it already parses."""
    until = now + _SUBMISSION_SECONDS if deadline is None else deadline
    return _page(str(escrow or _ESCROW), str(until), str(judging or _JUDGING_SECONDS))


def _page(escrow: str, deadline: str, judging: str) -> str:
    lines = ["---", "version: 1", f"title: {_TITLE}", f"summary: {_SUMMARY}", f"escrow_amount: {escrow}"]
    lines += [f"submission_deadline: {deadline}", f"judging_window_seconds: {judging}", "acceptance_criteria:"]
    lines += [*(f'  - "{one}"' for one in _CRITERIA), "deliverables:", f'  - "{_DELIVERABLE}"', "language: en", "---"]
    heading, text = _BODY
    return "\n".join([*lines, f"# {heading}", "", text, "", _UNITS, ""])


_EVERY: Final = _page("", "", "")
_PLACEHOLDERS: Final = frozenset(re.findall(r"<[^<>\n]+>", _EVERY))
_IN_BRACKETS: Final = re.compile(r"<[^<>]+>")
_LINES: Final = frozenset(line.strip() for line in _EVERY.splitlines())


def leftovers(page: bytes) -> Iterator[tuple[int, str]]:
    """Yield each line that still has template text, with that text."""
    for number, line in enumerate(page.decode("utf-8", "replace").splitlines(), 1):
        for found in _IN_BRACKETS.findall(line):
            if found in _PLACEHOLDERS and (" " in found or line.strip() in _LINES):
                yield number, f"still the template's {found}"
        if _LEFTOVER in line:
            yield number, "still the template's paragraph on units: remove it"


def require_filled(page: bytes) -> None:
    """Refuse a page with template text left in it, naming each place."""
    issues = [Issue(f"line {number}", message) for number, message in leftovers(page)]
    if issues:
        message = "The page is not filled in: parts of the template are left."
        raise CommandRefused("page_unfinished", message, issues=issues, next_action="Fill it in, then run this again.")
