"""The schemas of ``docs/events.md``, read from the page itself, and a validator for what they use of JSON Schema."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "events.md"
Schema = Mapping[str, object]
TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "boolean": bool,
    "null": type(None),
}
KEYWORDS = {"$ref", "type", "properties", "required", "additionalProperties", "items", "pattern", "enum", "const"}


@cache
def definitions() -> dict[str, Schema]:
    """The shared definitions."""
    first = re.search(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert first is not None
    found: dict[str, Schema] = json.loads(first[1])["$defs"]
    return found


@cache
def schemas() -> dict[str, Schema]:
    """Every event's schema by its name; how a command refuses is under ``<prefix>``."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"### `([^`]+)`[^#]*?```json\n(.*?)```", text, re.DOTALL)
    return {name.partition(".refused")[0]: json.loads(schema) for name, schema in found}


def problems(event: Mapping[str, object]) -> list[str]:
    """What is wrong with an event; empty when the page describes it."""
    name = str(event.get("event"))
    ended = name.endswith((".refused", ".failed"))
    schema = schemas().get("<prefix>" if ended else name)
    return [f"{name} is not documented"] if schema is None else list(violations(event, schema, name))


def violations(value: object, schema: Schema, place: str) -> Iterator[str]:
    """Where a value breaks a schema."""
    unknown = set(schema) - KEYWORDS - {"anyOf", "minimum"}
    assert not unknown, f"the validator does not know {unknown}"
    if isinstance(reference := schema.get("$ref"), str):
        yield from violations(value, definitions()[reference.removeprefix("#/$defs/")], place)
    if isinstance(choices := schema.get("anyOf"), list):
        if all(any(violations(value, choice, place)) for choice in choices):
            yield f"{place}: fits none of the alternatives"
        return
    yield from _scalar(value, schema, place)
    if isinstance(value, dict):
        yield from _object(value, schema, place)
    items = schema.get("items")
    if isinstance(value, list) and isinstance(items, dict):
        for index, item in enumerate(value):
            yield from violations(item, items, f"{place}[{index}]")


def _scalar(value: object, schema: Schema, place: str) -> Iterator[str]:
    kinds = schema.get("type")
    names = [str(kind) for kind in (kinds if isinstance(kinds, list) else [kinds] if kinds else [])]
    fits = any(isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool)) for name in names)
    if names and not fits:
        yield f"{place}: {value!r} is not {names}"
    if "const" in schema and value != schema["const"]:
        yield f"{place}: {value!r} is not {schema['const']!r}"
    if isinstance(allowed := schema.get("enum"), list) and value not in allowed:
        yield f"{place}: {value!r} is not one of {allowed}"
    pattern, minimum = schema.get("pattern"), schema.get("minimum")
    if isinstance(pattern, str) and isinstance(value, str) and re.search(pattern, value) is None:
        yield f"{place}: {value!r} does not match {pattern}"
    if isinstance(minimum, int) and isinstance(value, int) and value < minimum:
        yield f"{place}: {value} is below {minimum}"


def _object(value: Mapping[str, object], schema: Schema, place: str) -> Iterator[str]:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    assert isinstance(properties, dict)
    assert isinstance(required, list)
    yield from (f"{place}: {name} is missing" for name in required if name not in value)
    for name, field in value.items():
        if name in properties:
            yield from violations(field, properties[name], f"{place}.{name}")
        elif schema.get("additionalProperties") is False:
            yield f"{place}: {name} is not described"
