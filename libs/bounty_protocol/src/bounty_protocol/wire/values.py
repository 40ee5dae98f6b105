"""The values of the interface: how each is written, and what the published document states of it."""

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, NewType

from bounty_protocol.domain.challenge.tags import TAG_PATTERN, parse_tag
from bounty_protocol.domain.envelope.public_keys import parse_public_key
from bounty_protocol.domain.lifecycle.states import Outcome, SettlementReason, VerdictKind
from bounty_protocol.types import (
    MAX_INT64,
    Address,
    BlockNumber,
    BountyId,
    Bytes32,
    ChainId,
    TokenAmount,
    UnixSeconds,
    Wei,
    parse_address,
    parse_amount,
    parse_bounty_id,
    parse_bytes32,
    parse_decimal,
)
from bounty_protocol.wire.cursor import Cursor, parse_cursor

Timestamp = NewType("Timestamp", str)
"""ISO 8601 UTC, whole seconds."""
AbiArguments = NewType("AbiArguments", list[object])
"""Arguments of a call in ABI order."""
PublicKey = NewType("PublicKey", Bytes32)
"""An X25519 key that a caller chose."""
TypedData = NewType("TypedData", dict[str, object])
"""Typed data that a wallet signs by EIP-712."""
ChangeNumber = NewType("ChangeNumber", int)
"""Counts the changes of this deployment's index; numbers are skipped."""
SearchText = NewType("SearchText", str)
"""Words to search for, at most ``MAX_SEARCH`` characters."""
Tag = NewType("Tag", str)
"""A tag of a challenge page."""
PageCursor = NewType("PageCursor", Cursor)
"""Where the next page of a list begins."""
AnyObject = NewType("AnyObject", dict[str, object])
"""A document with a description of its own."""
JsonObject = Mapping[str, object]


class Finality(StrEnum):
    """How far what is shown can still change."""

    UNSAFE = "unsafe"
    FINALIZED = "finalized"


class IndexState(StrEnum):
    """How the copy of the Hub's log does."""

    FOLLOWING = "following"
    BEHIND = "behind"
    HALTED = "halted"
    STARTING = "starting"
    UNAVAILABLE = "unavailable"


class ChangeKind(StrEnum):
    """A kind of change of the index."""

    EVENT = "event"
    RETRACTION = "retraction"


class RecordFailure(StrEnum):
    """Why a final bounty has no VerificationRecord at the moment."""

    NOT_FINALIZED = "not_finalized"
    INDEX_BEHIND = "index_behind"
    DERIVATION_FAILED = "derivation_failed"


@dataclass(frozen=True, slots=True)
class ValueForm:
    """A value that has a form of its own. ``name`` is its component in the document; without one it is inline.

    ``parse`` reads the JSON of one; ``ValueError`` names what it must be.
    """

    name: str | None
    schema: Mapping[str, object]
    parse: Callable[[Any], object] = field(default=lambda value: value)


def _text(name: str | None, description: str, pattern: str | None, parse: Callable[[str], object]) -> ValueForm:
    schema = {"type": "string", "description": description} | ({"pattern": pattern} if pattern else {})
    return ValueForm(name, schema, parse)


def _bytes32(parse: Callable[[str], object]) -> ValueForm:
    return _text("Bytes32", "32 bytes: 0x and 64 lowercase hex digits.", "^0x[0-9a-f]{64}$", parse)


def _count(name: str | None, description: str) -> ValueForm:
    return ValueForm(name, {"type": "integer", "description": description, "minimum": 0}, _count_of)


def _count_of(value: object) -> int:
    if not 0 <= (number := _whole(value)) <= MAX_INT64:
        raise ValueError("must be a whole number of at least 0, within 63 bits")
    return number


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("must be a whole number")
    return value


def _one_of(name: str | None, *kinds: type[StrEnum]) -> ValueForm:
    """Return the form of these enums' values; several that share their values have one name."""
    values = [each.value for each in kinds[0]]

    def parse(text: str) -> StrEnum:
        if text not in values:
            raise ValueError(" or ".join(values))
        return kinds[0](text)

    return ValueForm(name, {"type": "string", "enum": values}, parse)


def _search_text(text: str) -> SearchText:
    if not 1 <= len(text) <= MAX_SEARCH or not text.isprintable():
        raise ValueError(f"1 to {MAX_SEARCH} printable characters")
    return SearchText(text)


def _timestamp(text: str) -> Timestamp:
    if re.fullmatch(_TIMESTAMP, text) is None:
        raise ValueError("a time in ISO 8601 UTC")
    return Timestamp(text)


def _up_to(most: int) -> str:
    """Return the pattern of the decimals from 1 to ``most``: those with fewer digits, then those smaller at
    one digit.
    """
    digits = str(most)
    smaller = [
        f"{digits[:place]}[{1 if place == 0 else 0}-{int(digit) - 1}][0-9]{{{len(digits) - place - 1}}}"
        for place, digit in enumerate(digits)
        if int(digit) > (1 if place == 0 else 0)
    ]
    return f"^({'|'.join([f'[1-9][0-9]{{0,{len(digits) - 2}}}', *smaller, digits])})$"


MAX_SEARCH: Final = 200
_TIMESTAMP: Final = "^[0-9-]{10}T[0-9:]{8}Z$"
_OUTCOME: Final = _one_of("Outcome", Outcome, VerdictKind)
VALUES: Final[Mapping[Any, ValueForm]] = {
    PublicKey: _bytes32(parse_public_key),
    Address: _text("Address", "An account: 0x and 40 lowercase hex digits.", "^0x[0-9a-f]{40}$", parse_address),
    Bytes32: _bytes32(parse_bytes32),
    TokenAmount: _text("Amount", "Smallest units of the escrow token, decimal.", "^(0|[1-9][0-9]*)$", parse_amount),
    Wei: _text(None, "Wei, decimal.", "^(0|[1-9][0-9]*)$", parse_decimal),
    BountyId: _text("BountyId", "A bounty's decimal id, from 1 to 2^63-1.", _up_to(MAX_INT64), parse_bounty_id),
    UnixSeconds: _count("UnixSeconds", "Chain time in seconds since 1970."),
    BlockNumber: _count("BlockNumber", "A block's number."),
    Timestamp: _text("Timestamp", "ISO 8601 UTC, whole seconds.", _TIMESTAMP, _timestamp),
    AbiArguments: ValueForm(
        "AbiArguments",
        {
            "type": "array",
            "description": "Arguments in ABI order: integers as decimal strings, tuples as lists, null where the "
            "wallet's signature belongs.",
            "items": {},
        },
    ),
    Outcome: _OUTCOME,
    VerdictKind: _OUTCOME,
    SettlementReason: _one_of("SettlementReason", SettlementReason),
    Finality: _one_of("Finality", Finality),
    ChainId: ValueForm(None, {"type": "integer"}, _whole),
    bytes: ValueForm(
        None,
        {"type": "string", "description": "Base64.", "contentEncoding": "base64"},
        lambda text: base64.b64decode(text, validate=True),
    ),
    PageCursor: _text(None, "next_cursor of the previous page.", None, parse_cursor),
    SearchText: _text(
        None,
        "Words, parts of them, or quoted text; each must occur.",
        f"^[^\\u0000-\\u001f\\u007f]{{1,{MAX_SEARCH}}}$",
        _search_text,
    ),
    Tag: _text(None, "A tag of a challenge page.", f"^{TAG_PATTERN}$", lambda text: Tag(parse_tag(text))),
    ChangeNumber: _count(None, "Number of a change of the index; some numbers are skipped."),
    Path: _text(None, "A path on the machine that wrote it.", None, Path),
    AnyObject: ValueForm("Any", {"type": "object"}),
    JsonObject: ValueForm(None, {"type": "object"}),
    TypedData: ValueForm(
        None,
        {
            "type": "object",
            "description": "EIP-712 typed data for eth_signTypedData_v4, with EIP-712's own key names.",
            "additionalProperties": True,
        },
    ),
}
"""By the type that annotates a field."""


class PlainKind(NamedTuple):
    """A type that is JSON as it is: its JSON Schema type, the Python types that a parser makes of it, and its name."""

    json: str
    python: tuple[type, ...]
    wanted: str


PLAIN: Final[Mapping[Any, PlainKind]] = {
    str: PlainKind("string", (str,), "a string"),
    int: PlainKind("integer", (int,), "a whole number"),
    bool: PlainKind("boolean", (bool,), "true or false"),
    float: PlainKind("number", (int, float), "a number"),
    dict: PlainKind("object", (dict,), "an object"),
}
"""The types of fields that need no form of their own."""


@cache
def form_of(kind: Any) -> ValueForm | None:
    """Return the form of a type that annotates a field; an enum needs no entry in ``VALUES``. None if it has none."""
    if (form := VALUES.get(kind)) is None and isinstance(kind, type) and issubclass(kind, StrEnum):
        return _one_of(None, kind)
    return form
