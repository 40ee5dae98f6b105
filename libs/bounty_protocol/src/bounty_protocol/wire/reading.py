"""JSON answers as instances of the shapes that define them, for everyone who asks a service.

Keys that a shape does not have are not read, since a newer service may answer more. The first wrong value ends it. What
a service is sent it reads by schemas of the same shapes (``service_common.web.schemas``).
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING
from functools import cache, partial
from typing import Any, TypeVar, cast

from bounty_protocol.errors import requirement
from bounty_protocol.shapes import Kind, ListOf, MapOf, Nested, OneOf, Part, kind_of, parts
from bounty_protocol.wire.values import PLAIN, PlainKind, ValueForm, form_of

T = TypeVar("T")
Reader = Callable[[object, str], object]
"""Reads one JSON value; the text is its path."""


def read(shape: type[T], value: object) -> T:
    """Read the instance of a JSON object, or the value of another type that may annotate a field.

    ``ValueError`` names the first value that does not have the shape.
    """
    annotation: Any = shape
    return cast("T", _reader(kind_of(annotation))(value, ""))


def _wrong(path: str, message: str) -> ValueError:
    return ValueError(f"{path or 'the answer'} {message}")


def _read_shape(shape: type, value: object, path: str) -> object:
    if not isinstance(value, Mapping):
        raise _wrong(path, "must be an object")
    above = path and f"{path}."
    return shape(**{
        part.name: _read_part(part, reader, value, f"{above}{part.name}") for part, reader in _readers(shape)
    })  # fmt: skip


@cache
def _readers(shape: type) -> tuple[tuple[Part, Reader], ...]:
    """Return the readers of a shape's fields, found once: a page of a list has thousands of fields."""
    return tuple((part, _reader(Nested(part.json_of) if part.json_of else part.kind)) for part in parts(shape))


def _read_part(part: Part, reader: Reader, values: Mapping[str, object], path: str) -> object:
    if part.name not in values:
        if part.default is MISSING:
            raise _wrong(path, "is missing")
        return part.default
    value = values[part.name]
    if value is None:
        if not part.nullable:
            raise _wrong(path, "must not be null")
        return None
    found = reader(value, path)
    return value if part.json_of else found


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


def _read_value(form: ValueForm, value: object, path: str) -> object:
    if form.schema["type"] == "string" and not isinstance(value, str):
        raise _wrong(path, f"must be {PLAIN[str].wanted}")
    try:
        return form.parse(value)
    except ValueError as error:
        raise _wrong(path, requirement(str(error))) from None


def _read_list(reader: Reader, value: object, path: str) -> object:
    if not isinstance(value, list):
        raise _wrong(path, "must be a list")
    return tuple(reader(each, f"{path}.{index}") for index, each in enumerate(value))


def _read_literal(known: tuple[object, ...], value: object, path: str) -> object:
    if value not in known:
        raise _wrong(path, f"must be {' or '.join(map(str, known))}")
    return value


def _read_map(key: Reader, reader: Reader, value: object, path: str) -> object:
    if not isinstance(value, dict):
        raise _wrong(path, "must be an object")
    return {key(name, path): reader(each, f"{path}.{name}") for name, each in value.items()}


def _read_plain(plain: PlainKind, value: object, path: str) -> object:
    if not isinstance(value, plain.python) or (isinstance(value, bool) and plain is not PLAIN[bool]):
        raise _wrong(path, f"must be {plain.wanted}")
    return value
