"""Markdown with YAML frontmatter, read strictly: bytes become a mapping of strings and a body.

Every scalar is the string as it is written (``version: 1`` gives "1", ``no`` gives "no"), so two readers of the same
bytes see the same values. Refused, with issues and never with a library's message: bytes that are not UTF-8, a byte
order mark, carriage returns, NUL and other control characters, missing delimiters, and in the YAML anchors, aliases,
tags, directives, several documents, duplicate keys, keys that are not strings, deep nesting and oversize. The
frontmatter is the text between a first line ``---`` and the next line that is exactly ``---``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import yaml

from bounty_protocol.domain.challenge.field_reader import issue
from bounty_protocol.errors import Issue

MAX_DOCUMENT_BYTES: Final = 256 * 1024
MAX_FRONTMATTER_BYTES: Final = 32 * 1024
MAX_VALUES: Final = 2_000
"""Names, values, lists and mappings: a page has a hundred, and 32 KiB have room for 16,000, which cost ten times as
much to read."""
MAX_DEPTH: Final = 4
MAX_ISSUES: Final = 100

if not yaml.__with_libyaml__:
    raise ImportError("PyYAML was installed without libyaml; install one of its wheels")

_LOADER: Final = yaml.CSafeLoader
"""libyaml's parser: the one in Python takes a second for the largest frontmatter."""
_DELIMITER: Final = "---"
_FIX: Final = "This makes a page without them: tr -d '\\r' < PAGE.md > FIXED.md"
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_NEVER: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f]")


@dataclass(frozen=True, slots=True)
class Document:
    """A document's two parts. Values are strings, lists and dictionaries of strings, nothing else."""

    frontmatter: dict[str, object]
    body: str


class FrontmatterError(Exception):
    """The document is refused; ``issues`` name why. Callers turn it into their own error code.

    ``document`` is what could be read all the same, so that a caller can report everything else that is wrong with it.
    """

    def __init__(self, issues: list[Issue], document: Document | None = None) -> None:
        super().__init__("; ".join(entry.message for entry in issues))
        self.issues = issues
        self.document = document


def split_document(data: bytes, max_bytes: int = MAX_DOCUMENT_BYTES) -> Document:
    """Split and read a document, or raise ``FrontmatterError`` with every problem that can be found at once."""
    text = _decode(data, max_bytes)
    lines = text.split("\n")
    if lines[0] != _DELIMITER:
        raise _refusal("document", "must begin with a line that is exactly ---, then the frontmatter")
    try:
        end = lines.index(_DELIMITER, 1)
    except ValueError:
        raise _refusal("frontmatter", "must end with a line that is exactly ---") from None
    values, issues = _read_mapping("\n".join(lines[1:end]) + "\n")
    document = Document(values, "\n".join(lines[end + 1 :]))
    if issues:
        raise FrontmatterError(issues, document)
    return document


def _decode(data: bytes, max_bytes: int) -> str:
    if len(data) > max_bytes:
        raise _refusal("document", f"must be at most {max_bytes} bytes; it has {len(data)}")
    if data.startswith(b"\xef\xbb\xbf"):
        raise _refusal("document", "must not begin with a byte order mark; save it as UTF-8 without BOM")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _refusal("document", f"must be UTF-8; line {line} holds bytes that are not") from None
    found = _CONTROL.search(text)
    if found is not None:
        line = text.count("\n", 0, found.start()) + 1
        if found.group() == "\r":
            raise _refusal("document", f"must use line feeds only; line {line} ends with a carriage return. {_FIX}")
        name = f"U+{ord(found.group()):04X}"
        raise _refusal("document", f"must not hold control characters; line {line} holds {name}")
    return text


def _read_mapping(head: str) -> tuple[dict[str, object], list[Issue]]:
    if len(head.encode()) > MAX_FRONTMATTER_BYTES:
        raise _refusal("frontmatter", f"must be at most {MAX_FRONTMATTER_BYTES} bytes")
    if re.search(r"^(%|---|\.\.\.)", head, re.MULTILINE):
        raise _refusal("frontmatter", "must be one plain YAML mapping, without directives or further documents")
    reader = _Reader(yaml.parse(head, Loader=_LOADER))
    try:
        value = reader.read()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" near line {mark.line + 2}" if mark is not None else ""
        words = f"is not readable YAML{where}; check quotes and indentation, and quote a value that holds a colon"
        raise _refusal("frontmatter", words) from None
    except yaml.YAMLError:
        raise _refusal("frontmatter", "is not readable YAML; it holds characters that YAML does not allow") from None
    if not isinstance(value, dict):
        raise _refusal("frontmatter", "must be a mapping of names to values")
    return value, reader.issues


class _Reader:
    """Builds values from YAML events, so that nothing is ever typed, resolved or expanded.

    What is refused but can be read past is collected in ``issues``.
    """

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self._events = _bounded(events)
        self.issues: list[Issue] = []

    def read(self) -> object:
        value: object = None
        for event in self._events:
            if isinstance(event, yaml.NodeEvent):
                value = self._value(event, "frontmatter", 1)
        return value

    def _value(self, event: yaml.Event, path: str, depth: int) -> object:
        self._refuse_cleverness(event, path)
        if isinstance(event, yaml.AliasEvent):
            return ""
        if isinstance(event, yaml.ScalarEvent):
            return self._text(event, path)
        if depth > MAX_DEPTH:
            raise _refusal(path, f"must not be nested deeper than {MAX_DEPTH} levels")
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(path, depth)
        return self._mapping(path, depth)

    def _sequence(self, path: str, depth: int) -> list[object]:
        values: list[object] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            values.append(self._value(event, f"{path}[{len(values)}]", depth + 1))
        return values

    def _mapping(self, path: str, depth: int) -> dict[str, object]:
        values: dict[str, object] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            self._refuse_cleverness(event, path)
            if not isinstance(event, yaml.ScalarEvent):
                raise _refusal(path, "every key must be a plain string")
            name = self._text(event, path)
            if name in values:
                self._collect(name, "occurs twice; keep one")
            values[name] = self._value(next(self._events), name, depth + 1)
        return values

    def _text(self, event: yaml.ScalarEvent, path: str) -> str:
        """Return the text of a scalar. Line separators and marks must be escaped; refuse characters that control a
        terminal or that no database accepts, even escaped.
        """
        text = str(event.value)
        if (found := _NEVER.search(text)) is None:
            return text
        self._collect(path, f"must not hold control characters, not even escaped; it holds U+{ord(found.group()):04X}")
        return _NEVER.sub("", text)

    def _refuse_cleverness(self, event: yaml.Event, path: str) -> None:
        if getattr(event, "anchor", None) is not None:  # an alias carries its anchor's name too
            self._collect(path, "must not use YAML anchors or aliases; write out the value")
        if getattr(event, "tag", None) is not None:
            self._collect(path, "must not use YAML tags; every value is a string")

    def _collect(self, path: str, message: str) -> None:
        if len(self.issues) < MAX_ISSUES:
            self.issues.append(issue(path, message))


def _bounded(events: Iterator[yaml.Event]) -> Iterator[yaml.Event]:
    """Yield the events; refuse once there are too many values, without reading the rest."""
    count = 0
    for event in events:
        count += isinstance(event, yaml.NodeEvent)
        if count > MAX_VALUES:
            raise _refusal("frontmatter", f"must hold at most {MAX_VALUES:,} names and values")
        yield event


def _refusal(path: str, message: str) -> FrontmatterError:
    return FrontmatterError([issue(path, message)])
