"""The template of a challenge page, for each kind of work.

A written template has the frontmatter's exact fields; what must be filled in is in angle brackets, and is named one by
one before anything is signed for the page.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bounty_protocol.errors import Issue
from bounty_protocol.types import TokenAmount, UnixSeconds

from service_cli.errors import CommandRefused
from service_cli.shell.output import warn

_ESCROW: Final = TokenAmount(25_000_000)
_SUBMISSION_SECONDS: Final = 14 * 86_400
_JUDGING_SECONDS: Final = 3 * 86_400
_LEFTOVER: Final = "is in the smallest units of the escrow token ("
_UNITS: Final = (
    f"escrow_amount {_LEFTOVER}25000000 is 25 USDC); submission_deadline is in seconds\n"
    "since 1970. Remove this paragraph."
)


class PageKind(StrEnum):
    """A kind of work that a page asks for."""

    GENERAL = "general"
    BUG = "bug"
    RESEARCH = "research"
    CODE = "code"
    DATA = "data"


@dataclass(frozen=True, slots=True)
class Sections:
    """The template of one kind; ``body`` is a heading and its placeholder for each section."""

    title: str
    summary: str
    criteria: tuple[str, ...]
    deliverables: tuple[str, ...]
    body: tuple[tuple[str, str], ...]
    tags: tuple[str, ...] = ()


_JUDGING: Final = (
    "Judging",
    "<what a Guardian does to check each criterion, and what decides between Submissions that meet all of them>",
)
_SECTIONS: Final = {
    PageKind.GENERAL: Sections(
        "<what is to be made, in one line>",
        "<what it does and for whom, in two or three sentences>",
        ("<a check that two people would decide the same way: a command and what it prints>", "<another>"),
        ("<a file that the Submission contains, by name>",),
        (("<title>", "<What is asked, what exists already, and what a Guardian does to check each criterion.>"),),
    ),
    PageKind.BUG: Sections(
        "<what goes wrong, and in which program, in one line>",
        "<what happens, what should happen, and whom it stops, in two or three sentences>",
        (
            "<a command that fails today, and what it prints once the fault is corrected>",
            "<the tests that pass today and have to pass afterwards, as a command>",
        ),
        ("<the change as a patch file, by name>", "<a test that fails without the change, by name>"),
        (
            ("What happens", "<the exact input, what the program does with it, and its version>"),
            ("How to reproduce it", "<each command from an empty machine to the fault>"),
            ("What should happen", "<the result for the same input, and why>"),
            ("Out of scope", "<what the change must leave as it is>"),
            _JUDGING,
        ),
        ("bug",),
    ),
    PageKind.RESEARCH: Sections(
        "<the question that is to be answered, in one line>",
        "<what the answer is needed for, and what is known so far, in two or three sentences>",
        (
            "<a statement that the answer has to prove or refute, and by which method or figure>",
            "<how each figure of the answer can be computed again, as a command and its result>",
        ),
        ("<the report, by name>", "<the data and programs behind its figures, by name>"),
        (
            ("The question", "<what exactly is asked, with every term defined>"),
            ("What is known", "<results and sources so far, and why they do not suffice>"),
            ("What counts as an answer", "<which evidence decides, and which does not>"),
            _JUDGING,
        ),
        ("research",),
    ),
    PageKind.CODE: Sections(
        "<the program that is to be written, in one line>",
        "<what it does and for whom, in two or three sentences>",
        (
            "<a command, and exactly what it prints or writes>",
            "<a limit on time or memory, on which machine, for which input>",
        ),
        ("<each source file or package, by name>", "<the tests, by name, and the command that runs them>"),
        (
            ("Background", "<what it is needed for, and what exists already>"),
            ("What is asked", "<inputs, outputs, and what happens to input that is wrong>"),
            ("Environment", "<language, versions, and which packages it may use>"),
            _JUDGING,
        ),
        ("code",),
    ),
    PageKind.DATA: Sections(
        "<the data that is to be collected or labelled, in one line>",
        "<what it is for, how much of it, and in which form, in two or three sentences>",
        (
            "<how many rows, and a command that counts them>",
            "<the share of rows that has to be right, and how it is drawn and checked>",
        ),
        ("<the data file, by name and format>", "<where each row comes from, as a file, by name>"),
        (
            ("What it is for", "<what is done with the data, so that its limits can be understood>"),
            ("Format", "<each column with its type, its unit and an example>"),
            ("Sources and licence", "<where rows may come from, and under which licence the result is>"),
            _JUDGING,
        ),
        ("data",),
    ),
}


@dataclass(frozen=True, slots=True)
class TemplateTerms:
    """The Poster's choices before the page is written; None is the usual value, or that of the page it is like."""

    escrow: TokenAmount | None = None
    deadline: UnixSeconds | None = None
    judging: int | None = None
    kind: PageKind = PageKind.GENERAL


def template(now: int, terms: TemplateTerms = TemplateTerms()) -> str:
    """A page with these terms whose text is to be filled in; it parses as it is."""
    deadline = now + _SUBMISSION_SECONDS if terms.deadline is None else terms.deadline
    escrow, judging = terms.escrow or _ESCROW, terms.judging or _JUDGING_SECONDS
    return _page(_SECTIONS[terms.kind], str(escrow), str(deadline), str(judging))


def page_like(page: bytes, terms: TemplateTerms) -> str:
    """That page to the letter, but with these terms in place of its own; one that does not parse is refused."""
    from bounty_protocol.domain.challenge import parse_challenge

    parse_challenge(page)
    text = page.decode()
    chosen = {
        "escrow_amount": terms.escrow,
        "submission_deadline": terms.deadline,
        "judging_window_seconds": terms.judging,
    }
    for field, value in chosen.items():
        if value is not None:
            text = re.sub(rf"(?m)^{field}:.*$", f"{field}: {value}", text, count=1)
    return text


def _page(asked: Sections, escrow: str, deadline: str, judging: str) -> str:
    lines = ["---", "version: 1", f"title: {asked.title}", f"summary: {asked.summary}", f"escrow_amount: {escrow}"]
    lines += [f"submission_deadline: {deadline}", f"judging_window_seconds: {judging}", "acceptance_criteria:"]
    lines += [*(f'  - "{one}"' for one in asked.criteria), "deliverables:"]
    lines += [*(f'  - "{one}"' for one in asked.deliverables), "language: en"]
    lines += [*(("tags:", *(f"  - {tag}" for tag in asked.tags)) if asked.tags else ()), "---"]
    for heading, text in asked.body:
        lines += [f"# {heading}", "", text, ""]
    return "\n".join([*lines, _UNITS, ""])


def terms_of(page: str) -> tuple[TokenAmount, UnixSeconds, int]:
    """Escrow, deadline and judging window of a page that parses."""
    from bounty_protocol.domain.challenge import parse_challenge

    found = parse_challenge(page.encode())
    return found.escrow_amount, found.submission_deadline, found.judging_window_seconds


_EVERY: Final = "\n".join(_page(asked, "", "", "") for asked in _SECTIONS.values())
_PLACEHOLDERS: Final = frozenset(re.findall(r"<[^<>\n]+>", _EVERY))
_IN_BRACKETS: Final = re.compile(r"<[^<>]+>")
_LINES: Final = frozenset(line.strip() for line in _EVERY.splitlines())


def leftovers(page: bytes) -> Iterator[tuple[int, str]]:
    """The line and what is left there of the template."""
    for number, line in enumerate(_lines(page), 1):
        for found in _IN_BRACKETS.findall(line):
            if _is_left(found, line):
                yield number, f"still the template's {found}"
        if _LEFTOVER in line:
            yield number, "still the template's paragraph on units: remove it"


def require_filled(page: bytes) -> None:
    """Refuse a page on which something of the template is left, naming each; note what only looks like it."""
    issues = [Issue(f"line {number}", message) for number, message in leftovers(page)]
    for number, line in enumerate(_lines(page), 1):
        for found in _IN_BRACKETS.findall(line):
            if not _is_left(found, line) and " " in found and not set(found) & set("=/@`"):
                warn(f"note: line {number} holds {found[:80]}; is that still to be filled in?")
    if issues:
        message = "The page is not filled in: something of the template still stands on it."
        raise CommandRefused(
            "page_unfinished", message, issues=issues, next_action="Fill it in, then run --check again."
        )


def _lines(page: bytes) -> list[str]:
    return page.decode("utf-8", "replace").splitlines()


def _is_left(found: str, line: str) -> bool:
    return found in _PLACEHOLDERS and (" " in found or line.strip() in _LINES)
