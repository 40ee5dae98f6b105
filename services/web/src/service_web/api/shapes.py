"""JSON read into the frozen dataclasses of the interface, by the annotations that write it (``service_common.shapes``).

New keys may appear in answers at any time, so unknown ones are ignored; a missing key or a value of another form is
``ValueError``. Nothing here follows a reference or grows: the work is linear in the answer.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Final, Literal, TypeVar, cast, get_args, get_origin

from service_common.shapes import Part, parts
from service_common.wire.values import VALUES

T = TypeVar("T")
Reader = Callable[[Any], object]


def read_shape(shape: type[T], value: object) -> T:
    """The instance behind a JSON object."""
    kind: type = shape
    return cast("T", _reader(kind)(value))


@cache
def _reader(shape: type) -> Reader:
    found = [(part, _of_part(part)) for part in parts(shape)]

    def read(value: object) -> object:
        if not isinstance(value, Mapping):
            raise ValueError(f"a {shape.__name__} is an object")
        return shape(**{part.name: _read_part(shape, part, reader, value) for part, reader in found})

    return read


def _read_part(shape: type, part: Part, reader: Reader, value: Mapping[str, Any]) -> object:
    if part.name not in value:
        if part.default is MISSING:
            raise ValueError(f"{shape.__name__}.{part.name} is missing")
        return part.default
    found = value[part.name]
    if found is None and (part.nullable or part.omitted):
        return None
    try:
        return reader(found)
    except (ValueError, TypeError, AttributeError):
        raise ValueError(f"{shape.__name__}.{part.name} has another form") from None


def _of_part(part: Part) -> Reader:
    return _checked(dict) if part.json_of is not None else _of_kind(part.kind)


def _of_kind(kind: Any) -> Reader:  # noqa: PLR0911  # a table of kinds
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return _texts(kind)
    if (form := VALUES.get(kind)) is not None:
        return _texts(form.parse) if form.schema["type"] == "string" else form.parse
    if get_origin(kind) is tuple:
        each = _of_kind(get_args(kind)[0])
        return lambda value: tuple(each(item) for item in _LIST(value))
    if get_origin(kind) is Literal:
        return _one_of(get_args(kind))
    if is_dataclass(kind):
        return _reader(cast("type", kind))
    if kind is float:
        return lambda value: float(_NUMBER(value))
    return _checked(get_origin(kind) or kind)


def _texts(parse: Reader) -> Reader:
    return lambda value: parse(_TEXT(value))


def _one_of(values: tuple[object, ...]) -> Reader:
    def read(value: object) -> object:
        if value not in values:
            raise ValueError("another value")
        return value

    return read


def _checked(kind: type | tuple[type, ...]) -> Reader:
    """A reader of what JSON itself has: true is no number."""

    def read(value: object) -> object:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ValueError("another kind of value")
        return value

    return read


_LIST: Final[Callable[[Any], Any]] = _checked(list)
_TEXT: Final[Callable[[Any], Any]] = _checked(str)
_NUMBER: Final[Callable[[Any], Any]] = _checked((int, float))
