"""JSON as instances of the shapes that define it: the answers of a service, and the requests to one.

``read`` is for those who ask: keys that a shape does not have are not read, since a newer service may answer more, and
the first wrong value ends it. ``read_request`` is for those who are asked: unknown keys are refused, the bounds of each
field hold, and everything that is wrong is named at once.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from functools import cache, partial
from typing import Any, TypeVar, cast

from bounty_protocol.errors import MAX_ISSUE_PATH, Issue, requirement
from bounty_protocol.shapes import Kind, ListOf, MapOf, Nested, Note, OneOf, Part, kind_of, parts
from bounty_protocol.wire.values import PLAIN, PlainKind, ValueForm, form_of

T = TypeVar("T")


class ShapeRefused(ValueError):
    """A request that is not of its shape: everything that is wrong with it, by its path."""

    def __init__(self, issues: Sequence[Issue]) -> None:
        super().__init__("; ".join(f"{issue.path} {issue.message}" for issue in issues))
        self.issues = tuple(issues)


@dataclass(slots=True)
class _Reading:
    """One JSON value that is read, and what was found wrong with it so far."""

    is_request: bool
    issues: list[Issue] = field(default_factory=list)

    def refuse(self, path: str, message: str) -> object:
        """Note what is wrong with a request, and return nothing in its place; raise what is wrong with an answer."""
        if not self.is_request:
            raise ValueError(f"{path or 'the answer'} {message}") from None
        self.issues.append(Issue(path[:MAX_ISSUE_PATH], message))
        return None


Reader = Callable[[object, str, _Reading], object]
"""Reads one JSON value; the text is its path."""


def read(shape: type[T], value: object) -> T:
    """Read the instance of a JSON object, or the value of another type that may annotate a field.

    ``ValueError`` names the first value that does not have the shape.
    """
    annotation: Any = shape
    return cast("T", _reader(kind_of(annotation))(value, "", _Reading(is_request=False)))


def read_request(shape: type[T], value: object) -> T:
    """Read the instance of a JSON object that somebody sent; ``ShapeRefused`` has everything that is wrong."""
    reading, kind = _Reading(is_request=True), cast("type", shape)
    made = _read_shape(kind, value, "", reading)
    if reading.issues:
        raise ShapeRefused(reading.issues)
    return cast("T", made)


def _read_shape(shape: type, value: object, path: str, reading: _Reading) -> object:
    if not isinstance(value, Mapping):
        return reading.refuse(path, "must be an object")
    above, known = path and f"{path}.", len(reading.issues)
    found = {
        part.name: _read_part(part, reader, value, f"{above}{part.name}", reading) for part, reader in _readers(shape)
    }
    if reading.is_request:
        for name in value:
            if name not in found:
                reading.refuse(f"{above}{name}", "is not a field of this body; remove it")
    return shape(**found) if len(reading.issues) == known else None


@cache
def _readers(shape: type) -> tuple[tuple[Part, Reader], ...]:
    """Return the readers of a shape's fields, found once: a page of a list has thousands of fields."""
    return tuple((part, _reader(Nested(part.json_of) if part.json_of else part.kind)) for part in parts(shape))


def _read_part(part: Part, reader: Reader, values: Mapping[str, object], path: str, reading: _Reading) -> object:
    if part.name not in values:
        return reading.refuse(path, "is missing") if part.default is MISSING else part.default
    value = values[part.name]
    if value is None:
        if not part.nullable or (reading.is_request and part.omitted):
            reading.refuse(path, "must not be null")
        return None
    found = reader(value, path, reading)
    if reading.is_request and (excess := _out_of_bounds(part.note, found)) is not None:
        reading.refuse(path, excess)
    return value if part.json_of else found


def _out_of_bounds(note: Note, value: object) -> str | None:
    """Return the bound that a value does not keep, as a requirement."""
    if isinstance(value, int):
        if note.minimum is not None and value < note.minimum:
            return f"must be at least {note.minimum}"
        if note.maximum is not None and value > note.maximum:
            return f"must be at most {note.maximum}"
    elif isinstance(value, str):
        if note.max_length is not None and len(value) > note.max_length:
            return f"must have at most {note.max_length} characters"
        if note.pattern and re.match(note.pattern, value) is None:
            return f"must match {note.pattern}"
    return None


@cache
def _reader(kind: Kind) -> Reader:
    match kind:
        case Nested(shape):
            return partial(_read_shape, shape)
        case ListOf(of):
            return partial(_read_list, _reader(of))
        case OneOf(known):
            return partial(_read_literal, known)
        case MapOf(key, of):
            return partial(_read_map, _reader(key), _reader(of))
    form = form_of(kind.of)
    return partial(_read_plain, PLAIN[kind.of]) if form is None else partial(_read_value, form)


def _read_value(form: ValueForm, value: object, path: str, reading: _Reading) -> object:
    if form.schema["type"] == "string" and not isinstance(value, str):
        return reading.refuse(path, f"must be {PLAIN[str].wanted}")
    try:
        return form.parse(value)
    except ValueError as error:
        return reading.refuse(path, requirement(str(error)))


def _read_list(reader: Reader, value: object, path: str, reading: _Reading) -> object:
    if not isinstance(value, list):
        return reading.refuse(path, "must be a list")
    return tuple(reader(each, f"{path}.{index}", reading) for index, each in enumerate(value))


def _read_literal(known: tuple[object, ...], value: object, path: str, reading: _Reading) -> object:
    return value if value in known else reading.refuse(path, f"must be {' or '.join(map(str, known))}")


def _read_map(key: Reader, reader: Reader, value: object, path: str, reading: _Reading) -> object:
    if not isinstance(value, dict):
        return reading.refuse(path, "must be an object")
    return {key(name, path, reading): reader(each, f"{path}.{name}", reading) for name, each in value.items()}


def _read_plain(plain: PlainKind, value: object, path: str, reading: _Reading) -> object:
    if not isinstance(value, plain.python) or (isinstance(value, bool) and plain is not PLAIN[bool]):
        return reading.refuse(path, f"must be {plain.wanted}")
    return value
