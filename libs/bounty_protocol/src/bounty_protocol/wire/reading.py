"""Answers as instances of the shapes that define them, without a framework: for those who ask.

Keys that a shape does not have are not read, since a newer service may answer more.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, is_dataclass
from functools import cache, partial
from typing import Any, Literal, TypeVar, cast, get_args, get_origin

from bounty_protocol.shapes import Part, parts
from bounty_protocol.wire.values import PLAIN, PlainKind, ValueForm, form_of, no_form

T = TypeVar("T")
Reader = Callable[[object, str], object]
"""Reads one JSON value; the text is its path in the answer."""


def read(shape: type[T], value: object) -> T:
    """The instance of a JSON object; ``ValueError`` names the first value that is not of the shape."""
    kind: type = shape
    return cast("T", _read_shape(kind, value, ""))


def _read_shape(shape: type, value: object, path: str) -> object:
    if not isinstance(value, Mapping):
        raise ValueError(f"{path or 'the answer'} must be an object")
    return shape(**{part.name: _read_part(part, value, f"{path}.{part.name}".lstrip(".")) for part in parts(shape)})


def _read_part(part: Part, values: Mapping[str, object], path: str) -> object:
    if part.name not in values:
        if part.default is MISSING:
            raise ValueError(f"{path} is missing")
        return part.default
    value = values[part.name]
    if value is None:
        if not part.nullable:
            raise ValueError(f"{path} must not be null")
        return None
    found = _reader(part.json_of or part.kind)(value, path)
    return value if part.json_of else found


@cache
def _reader(kind: Any) -> Reader:
    if (form := form_of(kind)) is not None:
        return partial(_read_value, form)
    if is_dataclass(kind):
        return partial(_read_shape, cast("type", kind))
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple:
        return partial(_read_list, _reader(arguments[0]))
    if origin is Literal:
        return partial(_read_literal, arguments)
    if origin is dict and arguments[1] is str:
        return _read_texts
    if (plain := PLAIN.get(origin or kind)) is None:
        raise no_form(kind)
    return partial(_read_plain, plain)


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


def _read_texts(value: object, path: str) -> object:
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise ValueError(f"{path} must be an object of texts")
    return value


def _read_plain(plain: PlainKind, value: object, path: str) -> object:
    if not isinstance(value, plain.python) or (isinstance(value, bool) and plain is not PLAIN[bool]):
        raise ValueError(f"{path} must be {plain.wanted}")
    return value
