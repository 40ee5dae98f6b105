"""Frozen dataclasses as JSON: the annotations of a class are the one definition of its shape.

``to_json`` follows them here, ``wire/reading.py`` reads by them, and the published document is made of them. What a
value is on the wire: ids and amounts are decimal strings, bytes base64, enums their values; ``None`` is null, or an
absent key where the annotation has ``OMITTED``.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache, partial
from operator import attrgetter
from os import PathLike
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from bounty_protocol.types import BountyId, TokenAmount, Wei


class Note(NamedTuple):
    """Facts about a value beside its type; bounds are inclusive, the pattern is that of a text."""

    description: str = ""
    minimum: int | None = None
    maximum: int | None = None
    max_length: int | None = None
    pattern: str = ""


class JsonOf(NamedTuple):
    """The value is JSON already, of the shape of this class: stored bytes that are shown as they are."""

    shape: type


class Omitted:
    """The key is absent where the value is None."""


OMITTED: Final = Omitted()
_AS_TEXT: Final = (BountyId, TokenAmount, Wei)


class Scalar(NamedTuple):
    """One value, of a type that has a form of its own (``wire/values.py``) or that JSON has."""

    of: Any


class ListOf(NamedTuple):
    """A list; a tuple inside."""

    of: "Kind"


class Nested(NamedTuple):
    """An object of another shape."""

    of: type


class OneOf(NamedTuple):
    """One of these texts."""

    of: tuple[str, ...]


class MapOf(NamedTuple):
    """An object whose keys are values themselves."""

    key: Scalar
    of: "Kind"


Kind = Scalar | ListOf | Nested | OneOf | MapOf
"""The kinds of annotations: everything that reads, writes or describes a shape tells apart these and no others."""


class Part(NamedTuple):
    """One field of a shape: its kind without None and notes, and what the annotation states beside it."""

    name: str
    kind: Kind
    nullable: bool
    omitted: bool
    note: Note
    json_of: type | None
    default: object
    """The value of an absent key; ``dataclasses.MISSING`` where the key is required."""


@cache
def kind_of(annotation: Any) -> Kind:
    """Return the kind of a type that annotates a field, without None and notes."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is tuple:
        return ListOf(kind_of(arguments[0]))
    if origin is Literal:
        return OneOf(arguments)
    if origin is dict:
        return Scalar(dict) if arguments[1] is object else MapOf(Scalar(arguments[0]), kind_of(arguments[1]))
    return Nested(annotation) if isinstance(annotation, type) and is_dataclass(annotation) else Scalar(annotation)


@cache
def parts(shape: type) -> tuple[Part, ...]:
    """Return the fields of a shape, in order."""
    hints = get_type_hints(shape, include_extras=True)
    return tuple(_part(each.name, hints[each.name], each.default) for each in fields(shape))


def keys(shape: type) -> frozenset[str]:
    """Return the names of a shape's fields."""
    return frozenset(part.name for part in parts(shape))


def to_json(value: object) -> dict[str, object]:
    """Return the JSON object of a dataclass."""
    shape: type = type(value)
    return _writer(shape)(value)


def to_json_as(annotation: Any, value: object) -> object:
    """Return the JSON of a value that is not a dataclass, by the type that annotates it."""
    change = _change(kind_of(annotation))
    return value if change is None else change(value)


@cache
def _writer(shape: type) -> Callable[[Any], dict[str, object]]:
    """Return the writer of one shape, made once: answers are written often, and most of their values are JSON
    already.
    """
    found = parts(shape)
    names = tuple(part.name for part in found)
    one = attrgetter(*names)
    read = one if len(names) > 1 else lambda value: (one(value),)
    changes = [(part.name, change) for part in found if (change := _change(part.kind)) is not None]
    optional = [part.name for part in found if part.omitted]

    def write(value: object) -> dict[str, object]:
        made = dict(zip(names, read(value), strict=True))
        for name, change in changes:
            if (inner := made[name]) is not None:
                made[name] = change(inner)
        for name in optional:
            if made[name] is None:
                del made[name]
        return made

    return write


def _change(kind: Kind) -> Callable[[Any], object] | None:
    """Return the function that converts a value to JSON; None if it is JSON already."""
    match kind:
        case Nested(shape):
            return _writer(shape)
        case ListOf(of):
            return partial(_change_list, _change(of))
        case MapOf(_, of):
            return partial(_change_map, _change(of))
        case Scalar(of):
            return _change_scalar(of)
    return None


def _change_scalar(of: Any) -> Callable[[Any], object] | None:
    if of in _AS_TEXT or (isinstance(of, type) and issubclass(of, PathLike)):
        return str
    if of is bytes:
        return _base64
    return str.__str__ if isinstance(of, type) and issubclass(of, StrEnum) else None


def _change_list(change: Callable[[Any], object] | None, value: tuple[object, ...]) -> list[object]:
    return list(value) if change is None else [change(each) for each in value]


def _change_map(change: Callable[[Any], object] | None, value: Mapping[str, object]) -> dict[str, object]:
    return dict(value) if change is None else {key: change(each) for key, each in value.items()}


def _base64(value: bytes) -> str:
    from base64 import b64encode  # few shapes have bytes, and every command of the client imports this module

    return b64encode(value).decode()


def _part(name: str, hint: Any, default: object) -> Part:
    extras: tuple[object, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *more = get_args(hint)
        extras = tuple(more)
    nullable = get_origin(hint) in {UnionType, Union} and NoneType in get_args(hint)
    if nullable:
        (hint,) = (each for each in get_args(hint) if each is not NoneType)
    note = next((each for each in extras if isinstance(each, Note)), Note())
    json_of = next((each.shape for each in extras if isinstance(each, JsonOf)), None)
    return Part(name, kind_of(hint), nullable, OMITTED in extras, note, json_of, default)
