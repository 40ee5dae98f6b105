"""A page as the rules read it: passages of prose and of code, each with its place.

Every word of the page is in exactly one passage. In ``prose`` code spans are blanked out, so that an example is not
taken for a statement; a code block is a passage of its own. CommonMark with tables; raw HTML and comments count as
prose, since a reader of the source reads them.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from bounty_protocol.domain.challenge.field_reader import issue
from bounty_protocol.domain.challenge.page import ChallengePage
from bounty_protocol.errors import Issue
from bounty_protocol.readiness.material import Material
from bounty_protocol.readiness.patterns import Pattern

_MARKDOWN: Final = MarkdownIt("commonmark").enable("table")
MAX_PASSAGES: Final = 10_000
"""Paragraphs, headings, list entries, table cells and code blocks. A book has fewer."""
MAX_LINES_AND_CELLS: Final = 40_000
"""Lines and cells of a body, counted before it is parsed: the parser takes up to 2 KB of memory for each."""
_CODE: Final = "``"
"""The placeholder in ``prose`` of a code span."""
_FULL_STOP: Final = Pattern(r"[.!?](?:\s|\z)")


def lines_and_cells(body: str) -> int:
    """Return an upper estimate of a body's passages, without parsing it."""
    return body.count("\n") + body.count("|")


@dataclass(frozen=True)
class Passage:
    """A field, or one block of the body. ``line`` is where it begins on the page, for the body only."""

    path: str
    text: str
    prose: str
    line: int | None = None
    is_code: bool = False

    def issue(self, message: str, at: int = 0) -> Issue:
        """Return an issue of this passage, its line named where that is known; ``at`` is an offset in ``prose``."""
        if self.line is None:
            return issue(self.path, message)
        return issue(self.path, f"Line {self.line + bisect_left(self._breaks, at)}: {message}")

    @cached_property
    def _breaks(self) -> list[int]:
        """The offsets at which its lines end."""
        return [at for at, character in enumerate(self.prose) if character == "\n"]

    @cached_property
    def sentences(self) -> list[tuple[int, str]]:
        """The sentences of the prose, each with its offset, line breaks as spaces."""
        flat = self.prose.replace("\n", " ")
        ends = [found.start + 1 for found in _FULL_STOP.each(flat)]
        starts = [0, *ends]
        pieces = ((start, flat[start:end]) for start, end in zip(starts, [*ends, len(flat)], strict=True))
        return [(start + len(piece) - len(piece.lstrip()), piece.strip()) for start, piece in pieces if piece.strip()]


@dataclass
class Reading:
    """Everything the rules look at."""

    material: Material
    passages: list[Passage] = field(default_factory=list)

    @property
    def page(self) -> ChallengePage:
        """The parsed page."""
        return self.material.page

    @property
    def prose(self) -> Iterator[Passage]:
        """The passages that are not blank, code blocks left out."""
        return (passage for passage in self.passages if not passage.is_code)

    @cached_property
    def all_text(self) -> str:
        """The texts of all passages, joined by lines: what it lacks, every passage lacks."""
        return "\n".join(passage.text for passage in self.passages)

    @cached_property
    def all_prose(self) -> str:
        """The prose of all passages that have some, a line each."""
        return "\n".join(passage.prose.replace("\n", " ") for passage in self.prose)

    @staticmethod
    def of(material: Material) -> "Reading":
        """Read a page."""
        reading = Reading(material)
        reading._read_fields()
        reading._read_body()
        return reading

    def _read_fields(self) -> None:
        page = self.page
        fields = {"title": page.title, "summary": page.summary}
        fields |= {f"acceptance_criteria[{i}]": text for i, text in enumerate(page.acceptance_criteria)}
        fields |= {f"deliverables[{i}]": text for i, text in enumerate(page.deliverables)}
        for path, text in fields.items():
            for token in _MARKDOWN.parseInline(text):
                self._add(path, token, None)

    def _read_body(self) -> None:
        first = self.material.content.count(b"\n") - self.page.body.count("\n") + 1
        for token in _MARKDOWN.parse(self.page.body):
            line = first + token.map[0] if token.map else None
            if token.type == "inline":
                self._add("body", token, line)
            elif token.type in {"fence", "code_block"}:
                self.passages.append(Passage("body", token.content, token.content, line, is_code=True))
            elif token.type == "html_block":
                self.passages.append(Passage("body", token.content, token.content, line))

    def _add(self, path: str, token: Token, line: int | None) -> None:
        words = "".join(_shown(child) for child in token.children or ())
        self.passages.append(Passage(path, token.content, words, line))


def _shown(token: Token) -> str:
    if token.type in {"softbreak", "hardbreak"}:
        return "\n"
    if token.type == "code_inline":
        return _CODE
    return token.content if token.type in {"text", "html_inline", "image", "text_special"} else ""
