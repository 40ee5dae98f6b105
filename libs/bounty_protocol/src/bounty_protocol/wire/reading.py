"""Answers as instances of the shapes that define them, without a framework: for those who ask.

Keys that a shape does not have are not read, since a newer service may answer more.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING
from functools import cache, partial
from typing import Any, TypeVar, cast

from bounty_protocol.shapes import Kind, ListOf, MapOf, Nested, OneOf, Part, Scalar, kind_of, parts
from bounty_protocol.wire.values import PLAIN, PlainKind, ValueForm, form_of, plain_of

T = TypeVar("T")
Reader = Callable[[object, str], object]
"""Reads one JSON value; the text is its path in the answer."""


def read(shape: type[T], value: object) -> T:
    """Read the instance of a JSON object, or the value of another type that may annotate a field.

    ``ValueError`` names the first value that does not have the shape.
    """
    annotation: Any = shape
    return cast("T", _reader(kind_of(annotation))(value, ""))


def _read_shape(shape: type, value: object, path: str) -> object:
    if not isinstance(value, Mapping):
        raise ValueError(f"{path or 'the answer'} must be an object")
    above = path and f"{path}."
    return shape(
        **{part.name: _read_part(part, reader, value, f"{above}{part.name}") for part, reader in _readers(shape)}
    )


@cache
def _readers(shape: type) -> tuple[tuple[Part, Reader], ...]:
    """Return the readers of a shape's fields, found once: a page of a list has thousands of fields."""
    return tuple((part, _reader(Nested(part.json_of) if part.json_of else part.kind)) for part in parts(shape))


def _read_part(part: Part, reader: Reader, values: Mapping[str, object], path: str) -> object:
    if part.name not in values:
        if part.default is MISSING:
            raise ValueError(f"{path} is missing")
        return part.default
    value = values[part.name]
    if value is None:
        if not part.nullable:
            raise ValueError(f"{path} must not be null")
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
        case Scalar(of):
            form = form_of(of)
            return partial(_read_plain, plain_of(of)) if form is None else partial(_read_value, form)


def _read_value(form: ValueForm, value: object, path: str) -> object:
    if form.schema["type"] == "string" and not isinstance(value, str):
        raise ValueError(f"{path} must be {PLAIN[str].wanted}")
    try:
        return form.parse(value)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _read_list(reader: Reader, value: object, path: str) -> tuple[object, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{path} must be a list")
    return tuple(reader(each, f"{path}[{index}]") for index, each in enumerate(value))


def _read_literal(known: tuple[object, ...], value: object, path: str) -> object:
    if value not in known:
        raise ValueError(f"{path} must be {' or '.join(map(str, known))}")
    return value


def _read_map(key: Reader, reader: Reader, value: object, path: str) -> dict[object, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{path} must be an object")
    return {key(name, path): reader(each, f"{path}.{name}") for name, each in value.items()}


def _read_plain(plain: PlainKind, value: object, path: str) -> object:
    if not isinstance(value, plain.python) or (isinstance(value, bool) and plain is not PLAIN[bool]):
        raise ValueError(f"{path} must be {plain.wanted}")
    return value
