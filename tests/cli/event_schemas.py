"""The schemas of ``docs/events.md``, read from the page itself, and what an event breaks of them."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from jsonschema import Draft202012Validator

PAGE = Path(__file__).parents[2] / "docs" / "events.md"
Schema = Mapping[str, object]


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


@cache
def validator(name: str) -> Draft202012Validator:
    """The validator of one event, with the shared definitions."""
    return Draft202012Validator({**schemas()[name], "$defs": definitions()})


def problems(event: Mapping[str, object]) -> list[str]:
    """What is wrong with an event; empty when the page describes it."""
    name = str(event.get("event"))
    ended = name.endswith((".refused", ".failed"))
    described = "<prefix>" if ended else name
    if described not in schemas():
        return [f"{name} is not documented"]
    return [f"{name}: {error.json_path}: {error.message}" for error in validator(described).iter_errors(event)]
