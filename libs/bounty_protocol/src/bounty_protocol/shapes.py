"""Frozen dataclasses as JSON: the annotations of a class are the one definition of its shape.

``to_json`` follows them here; the schemas that read bodies and describe the interface are made of the same annotations
in ``web/schemas.py``. What a value is on the wire: ids and amounts are decimal strings, bytes base64, enums their
values; ``None`` is null, or an absent key where the annotation has ``OMITTED``.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints

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
_DECIMAL: Final = (BountyId, TokenAmount, Wei)


class Part(NamedTuple):
    """One field of a shape: its type without None and notes, and what the annotation states beside it."""

    name: str
    kind: Any
    nullable: bool
    omitted: bool
    note: Note
    json_of: type | None
    default: object
    """The value of an absent key; ``dataclasses.MISSING`` where the key is required."""


@cache
def parts(shape: type) -> tuple[Part, ...]:
    """The fields of a shape, in order."""
    hints = get_type_hints(shape, include_extras=True)
    return tuple(_part(each.name, hints[each.name], each.default) for each in fields(shape))


def keys(shape: type) -> frozenset[str]:
    """The names of a shape's fields."""
    return frozenset(part.name for part in parts(shape))


def to_json(value: object) -> dict[str, object]:
    """The JSON object of a dataclass."""
    shape: type = type(value)
    return _writer(shape)(value)


@cache
def _writer(shape: type) -> Callable[[Any], dict[str, object]]:
    """The writer of one shape, made once: answers are written often, and most of their values are JSON as they are."""
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


def _change(kind: Any) -> Callable[[Any], object] | None:
    """The function that makes JSON of a value; None where it is JSON as it is."""
    if kind in _DECIMAL:
        return str
    if kind is bytes:
        return _base64
    if get_origin(kind) is tuple:
        inner = _change(get_args(kind)[0])
        return list if inner is None else lambda value: [inner(each) for each in value]
    if not isinstance(kind, type):
        return None
    if issubclass(kind, StrEnum):
        return str.__str__
    return _writer(kind) if is_dataclass(kind) else None


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
    return Part(name, hint, nullable, OMITTED in extras, note, json_of, default)
