"""The challenge page: Markdown whose frontmatter states the terms.

A page that parses has every field in its canonical form; all problems of a page that does not are reported at once as
``invalid_bounty_challenge``. Whether the terms are wise is the readiness review's question, and whether they agree with
the chain is answered by ``term_differences``.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bounty_protocol.domain.frontmatter import MAX_DOCUMENT_BYTES, FrontmatterError, split_document
from bounty_protocol.domain.reading import FieldReader
from bounty_protocol.domain.shorthand import read_amount, read_moment, read_span, strictly
from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.shapes import parts
from bounty_protocol.types import MAX_INT64, TokenAmount, UnixSeconds, parse_amount, parse_decimal, parse_unix_seconds

VERSION: Final = 1
MAX_TITLE: Final = 200
MAX_SUMMARY: Final = 2_000
MAX_ENTRIES: Final = 50
MAX_ENTRY: Final = 2_000
MAX_CONTACT: Final = 200
LANGUAGE_PATTERN: Final = "[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}"
AMOUNT_PATTERN: Final = "[1-9][0-9]{0,77}"
SECONDS_PATTERN: Final = "[1-9][0-9]{0,18}"


@dataclass(frozen=True, slots=True)
class ChallengePage:
    """A Poster's challenge and its terms. The commitment is over the page's bytes, not over these fields."""

    version: int
    title: str
    summary: str
    escrow_amount: TokenAmount
    submission_deadline: UnixSeconds
    judging_window_seconds: int
    acceptance_criteria: tuple[str, ...]
    deliverables: tuple[str, ...]
    language: str | None
    contact: str | None
    body: str


def parse_challenge(page: bytes, max_bytes: int = MAX_DOCUMENT_BYTES) -> ChallengePage:
    """Read a page or raise ``invalid_bounty_challenge`` with all issues."""
    issues: list[Issue] = []
    try:
        document = split_document(page, max_bytes)
    except FrontmatterError as error:
        if error.document is None:
            raise _invalid(error.issues) from None
        document, issues = error.document, error.issues
    reader = FieldReader(document.frontmatter, issues=[])
    parsed = ChallengePage(
        version=reader.text("version", only_version),
        title=reader.text("title", line(MAX_TITLE)),
        summary=reader.text("summary", prose(MAX_SUMMARY)),
        escrow_amount=reader.text("escrow_amount", strictly("escrow_amount", _positive_amount, read_amount)),
        submission_deadline=reader.text(
            "submission_deadline", strictly("submission_deadline", _positive_seconds, read_moment)
        ),
        judging_window_seconds=reader.text(
            "judging_window_seconds", strictly("judging_window_seconds", _positive_seconds, read_span)
        ),
        acceptance_criteria=reader.texts("acceptance_criteria", prose(MAX_ENTRY), MAX_ENTRIES),
        deliverables=reader.texts("deliverables", prose(MAX_ENTRY), MAX_ENTRIES),
        language=reader.optional_text("language", _language),
        contact=reader.optional_text("contact", line(MAX_CONTACT)),
        body=document.body,
    )
    if not document.body.strip():
        reader.problem("body", "must describe the challenge below the frontmatter; it is empty")
    reported = {issue.path for issue in issues}
    issues += [issue for issue in reader.finish() if issue.path not in reported]
    if issues:
        raise _invalid(issues)
    return parsed


def line(maximum: int) -> Callable[[str], str]:
    """A parser of one line of text."""

    def parse(text: str) -> str:
        if "\n" in text:
            raise ValueError("must be one line")
        return prose(maximum)(text)

    return parse


def prose(maximum: int) -> Callable[[str], str]:
    """A parser of text that is not blank, within a length in characters."""

    def parse(text: str) -> str:
        if not text.strip():
            raise ValueError("must not be empty")
        if len(text) > maximum:
            raise ValueError(f"must be at most {maximum} characters")
        return text

    return parse


def only_version(text: str) -> int:
    """The one version there is."""
    if text != str(VERSION):
        raise ValueError(f"must be {VERSION}")
    return VERSION


def challenge_schema() -> dict[str, object]:
    """JSON Schema of the frontmatter, as ``GET /api/schemas/bounty-challenge.json`` serves it."""
    entries = {"type": "array", "items": _text(MAX_ENTRY), "minItems": 1, "maxItems": MAX_ENTRIES}
    properties: dict[str, object] = {
        "version": {"const": str(VERSION)},
        "title": _text(MAX_TITLE) | {"description": "one line"},
        "summary": _text(MAX_SUMMARY),
        "escrow_amount": _pattern(AMOUNT_PATTERN) | {"description": "smallest units of the escrow token"},
        "submission_deadline": _pattern(SECONDS_PATTERN) | {"description": "chain time, seconds since 1970"},
        "judging_window_seconds": _pattern(SECONDS_PATTERN),
        "acceptance_criteria": entries,
        "deliverables": entries,
        "language": _pattern(LANGUAGE_PATTERN) | {"description": "BCP 47 language tag of the page"},
        "contact": _text(MAX_CONTACT) | {"description": "one line"},
    }
    optional = {part.name for part in parts(ChallengePage) if part.nullable}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Bounty challenge frontmatter",
        "description": "YAML frontmatter of bounty_challenge.md; every scalar is read as a string",
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _text(maximum: int) -> dict[str, object]:
    return {"type": "string", "minLength": 1, "maxLength": maximum, "pattern": "\\S"}


def _pattern(pattern: str) -> dict[str, object]:
    return {"type": "string", "pattern": f"^{pattern}$"}


def _positive_amount(text: str) -> TokenAmount:
    if parse_amount(text) == 0:
        raise ValueError("must be more than zero")
    return parse_amount(text)


def _positive_seconds(text: str) -> UnixSeconds:
    if not 0 < parse_decimal(text) <= MAX_INT64:
        raise ValueError("must be a whole number of seconds above zero")
    return parse_unix_seconds(text)


def _language(text: str) -> str:
    if re.fullmatch(LANGUAGE_PATTERN, text) is None:
        raise ValueError("must be a language tag such as en or pt-BR")
    return text


def _invalid(issues: list[Issue]) -> ServiceError:
    return ServiceError("invalid_bounty_challenge", "the challenge page cannot be published as it is", issues=issues)
