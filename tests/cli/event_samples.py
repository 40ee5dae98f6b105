"""An event of each kind, made of its schema: complete, and with every null it may have."""

from collections.abc import Iterator, Mapping
from typing import Final

from bounty_protocol.shapes import to_json

from tests.cli import sample_bounty
from tests.cli.event_schemas import problems, schemas

HOSTILE: Final = "a\x1b[2J\x07\u202eb\u0600\r\nc" + "\u0301" * 40 + "\U0001f600字" * 5
"""Free text that would clear the screen, ring, turn letters around, begin a line and draw over others."""
_SHARED: Final[Mapping[str, object]] = {
    "Address": "0x" + "ab" * 20,
    "Bytes32": "0x" + "cd" * 32,
    "Amount": "25000000",
    "BountyId": "7",
    "UnixSeconds": sample_bounty.NOW + 90,
    "BlockNumber": 3,
    "Timestamp": "2027-01-15T09:00:00Z",
    "Outcome": "awarded",
    "SettlementReason": "judged",
    "Finality": "finalized",
}
_PATTERNS: Final = {
    "^age1[0-9a-z]{58}$": "age1" + "q" * 58,
    "^[a-z_]+(\\.[a-z_]+)?$": "chain.logs",
    "^[a-z0-9_]+$": "some_code",
    "^[a-z0-9]+(-[a-z0-9]+)*$": "parser",
    "^[^\\u0000-\\u001f\\u007f]{1,200}$": "words",
    "^[0-9a-f]{64}$": "ef" * 32,
    "^0x([0-9a-f]{2})*$": "0x00",
    "^(0|[1-9][0-9]*)$": "25000000",
}
_WHOLE: Final[Mapping[str, Mapping[str, object]]] = {
    "bounty_list.bounty": to_json(sample_bounty.item()),
    "bounty_show.bounty": to_json(sample_bounty.detail()),
    "verification_record.fetched": {"record": sample_bounty.record()},
}
"""Events whose objects are the API's: the schemas leave their shapes to the interface."""


def samples(text: str = "some text") -> Iterator[tuple[str, Mapping[str, object]]]:
    """Name and fields of each event, ``text`` wherever any text may be."""
    for name in sorted(set(schemas()) - {"<prefix>"}):
        for nulls in (False, True):
            properties = schemas()[name]["properties"]
            assert isinstance(properties, dict)
            fields = {key: _value(each, text, nulls=nulls) for key, each in properties.items() if key != "event"}
            fields = dict(_WHOLE.get(name, fields))
            assert not problems({"event": name, **fields}), name
            yield name, fields


def _value(schema: object, text: str, *, nulls: bool) -> object:
    assert isinstance(schema, dict)
    if "$ref" in schema:
        return _SHARED[schema["$ref"].rpartition("/")[2]]
    for key in ("const", "enum"):
        if key in schema:
            return schema[key] if key == "const" else schema[key][-1 if nulls else 0]
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return None if nulls else _value(schema[key][0], text, nulls=nulls)
    kinds = schema["type"]
    kind = kinds if isinstance(kinds, str) else "null" if nulls and "null" in kinds else kinds[0]
    if kind == "array":
        return [] if nulls else [_value(schema["items"], text, nulls=nulls)]
    if kind == "object":
        return {key: _value(each, text, nulls=nulls) for key, each in schema.get("properties", {}).items()}
    plain: Mapping[str, object] = {"boolean": not nulls, "integer": sample_bounty.NOW, "null": None}
    return _PATTERNS.get(schema.get("pattern", ""), text) if kind == "string" else plain[kind]
