"""The challenge page: Markdown whose frontmatter states the terms.

A page that parses has every field in its canonical form; all problems of a page that does not are reported at once as
``invalid_bounty_challenge``. Whether the terms are wise is the readiness review's question, and whether they agree with
the chain is answered by ``term_differences``.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from bounty_protocol.domain.challenge.field_reader import FieldReader
from bounty_protocol.domain.challenge.frontmatter import MAX_DOCUMENT_BYTES, FrontmatterError, split_document
from bounty_protocol.domain.challenge.tags import MAX_TAG, MAX_TAGS, TAG_PATTERN, parse_tag
from bounty_protocol.domain.money.shorthand import read_amount, read_moment, read_span, strictly
from bounty_protocol.errors import Issue, ServiceError
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


def line(maximum: int) -> Callable[[str], str]:
    """Return a parser of one line of text."""

    def parse(text: str) -> str:
        if "\n" in text:
            raise ValueError("must be one line")
        return prose(maximum)(text)

    return parse


def prose(maximum: int) -> Callable[[str], str]:
    """Return a parser of text that is not blank, within a length in characters."""

    def parse(text: str) -> str:
        if not text.strip():
            raise ValueError("must not be empty")
        if len(text) > maximum:
            raise ValueError(f"must be at most {maximum} characters")
        return text

    return parse


def only_version(text: str) -> int:
    """Return the only version."""
    if text != str(VERSION):
        raise ValueError(f"must be {VERSION}")
    return VERSION


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


@dataclass(frozen=True, slots=True)
class FrontmatterField:
    """How a field of the frontmatter is read, and what its JSON Schema has of it."""

    parse: Callable[[str], object]
    schema: Mapping[str, object]
    shorthand: Callable[[str], int] | None = None
    """Reads what people write in place of an exact number, for the hint to the number that is meant."""
    is_list: bool = False
    is_required: bool = True
    is_set: bool = False
    """Whether no entry of a list may be there twice."""
    entries: int = MAX_ENTRIES
    about: str = ""
    """What it fixes, for docs/poster.md."""

    def read(self, reader: FieldReader, name: str) -> object:
        """Read the value with that name; ``reader`` records a problem."""
        if self.is_list:
            return reader.texts(name, self.parse, self.entries, is_required=self.is_required, is_set=self.is_set)
        parse = self.parse if self.shorthand is None else strictly(name, self.parse, self.shorthand)
        return reader.text(name, parse) if self.is_required else reader.optional_text(name, parse)

    def json_schema(self) -> dict[str, object]:
        """Return the JSON Schema of one value, or of the list."""
        if self.is_list:
            found = {"type": "array", "items": dict(self.schema), "minItems": 1, "maxItems": self.entries}
            return found | ({"uniqueItems": True} if self.is_set else {})
        return dict(self.schema)


def _frontmatter(*definition: Any, **options: Any) -> dict[str, FrontmatterField]:
    return {_FRONTMATTER: FrontmatterField(*definition, **options)}


_FRONTMATTER: Final = "frontmatter"
_ONE_LINE: Final = {"description": "one line"}
_AMOUNT: Final = _pattern(AMOUNT_PATTERN) | {"description": "smallest units of the escrow token"}
_DEADLINE: Final = _pattern(SECONDS_PATTERN) | {"description": "chain time, seconds since 1970"}
_TAG: Final = _pattern(TAG_PATTERN) | {
    "maxLength": MAX_TAG,
    "description": "a word to find and follow bounties by",
}
_LANGUAGE: Final = _pattern(LANGUAGE_PATTERN) | {"description": "BCP 47 language tag of the page"}


@dataclass(frozen=True, slots=True)
class ChallengePage:
    """A Poster's challenge and its terms. The commitment is over the page's bytes, not over these fields.

    A field's metadata is all that the frontmatter has of it: ``parse_challenge`` and ``challenge_schema`` follow.
    """

    version: int = field(
        metadata=_frontmatter(only_version, {"const": str(VERSION)}, about=f"the format of the page: `{VERSION}`")
    )
    title: str = field(
        metadata=_frontmatter(
            line(MAX_TITLE), _text(MAX_TITLE) | _ONE_LINE, about=f"one line of at most {MAX_TITLE:,} characters"
        )
    )
    summary: str = field(
        metadata=_frontmatter(
            prose(MAX_SUMMARY), _text(MAX_SUMMARY), about=f"at most {MAX_SUMMARY:,} characters, for lists"
        )
    )
    escrow_amount: TokenAmount = field(
        metadata=_frontmatter(
            _positive_amount,
            _AMOUNT,
            read_amount,
            about="what goes into escrow, in the smallest units of the escrow token: 400000000 is 400 USDC. A decimal"
            " above 0 without sign, point, exponent, separators or leading zeros",
        )
    )
    submission_deadline: UnixSeconds = field(
        metadata=_frontmatter(
            _positive_seconds,
            _DEADLINE,
            read_moment,
            about="the time until which Submissions count, as seconds since 1970 by the chain's clock: `date -u -d"
            " '2030-01-01 00:00' +%s` prints it",
        )
    )
    judging_window_seconds: int = field(
        metadata=_frontmatter(
            _positive_seconds,
            _pattern(SECONDS_PATTERN),
            read_span,
            about="how long Guardians have to judge, in seconds from the reveal point: 259200 is three days. A"
            " deployment has a minimum and a maximum: `GET /api/deployment`",
        )
    )
    acceptance_criteria: tuple[str, ...] = field(
        metadata=_frontmatter(
            prose(MAX_ENTRY),
            _text(MAX_ENTRY),
            is_list=True,
            about=f"a list of 1 to {MAX_ENTRIES} checks of at most {MAX_ENTRY:,} characters. Each stands alone, and"
            " two people must come to the same answer",
        )
    )
    deliverables: tuple[str, ...] = field(
        metadata=_frontmatter(
            prose(MAX_ENTRY),
            _text(MAX_ENTRY),
            is_list=True,
            about=f"a list of 1 to {MAX_ENTRIES} things that a Submission contains, by name, each of at most"
            f" {MAX_ENTRY:,} characters",
        )
    )
    language: str | None = field(
        metadata=_frontmatter(
            _language,
            _LANGUAGE,
            is_required=False,
            about="the page's language as a BCP 47 tag such as `en` or `pt-BR`",
        )
    )
    contact: str | None = field(
        metadata=_frontmatter(
            line(MAX_CONTACT),
            _text(MAX_CONTACT) | _ONE_LINE,
            is_required=False,
            about=f"one line of at most {MAX_CONTACT:,} characters; public forever",
        )
    )
    tags: tuple[str, ...] = field(
        metadata=_frontmatter(
            parse_tag,
            _TAG,
            is_list=True,
            is_required=False,
            is_set=True,
            entries=MAX_TAGS,
            about=f"a list of 1 to {MAX_TAGS} different words to find and follow bounties by, each of at most"
            f" {MAX_TAG} lowercase letters a-z, digits and hyphens",
        )
    )
    body: str


FIELDS: Final[Mapping[str, FrontmatterField]] = {
    each.name: each.metadata[_FRONTMATTER] for each in fields(ChallengePage) if _FRONTMATTER in each.metadata
}


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
    values: dict[str, Any] = {name: each.read(reader, name) for name, each in FIELDS.items()}
    if not document.body.strip():
        reader.problem("body", "must describe the challenge below the frontmatter; it is empty")
    reported = {issue.path for issue in issues}
    issues += [issue for issue in reader.finish() if issue.path not in reported]
    if issues:
        raise _invalid(issues)
    return ChallengePage(**values, body=document.body)


def challenge_schema() -> dict[str, object]:
    """Return JSON Schema of the frontmatter, as ``GET /api/schemas/bounty-challenge.json`` serves it."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Bounty challenge frontmatter",
        "description": "YAML frontmatter of bounty_challenge.md; every scalar is read as a string",
        "type": "object",
        "properties": {name: each.json_schema() for name, each in FIELDS.items()},
        "required": [name for name, each in FIELDS.items() if each.is_required],
        "additionalProperties": False,
    }


def _invalid(issues: list[Issue]) -> ServiceError:
    return ServiceError(
        "invalid_bounty_challenge", "the challenge page cannot be published in this form", issues=issues
    )
