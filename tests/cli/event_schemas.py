"""The schemas of the client's events, and what an event breaks of them."""

from collections.abc import Mapping
from functools import cache

from jsonschema import Draft202012Validator
from service_cli.ui.event import CommandEnding

from tools.reference.events import definitions, events_by_command, schema_of

Schema = Mapping[str, object]


@cache
def schemas() -> dict[str, Schema]:
    """Every event's schema by its name; how a command refuses is under ``<prefix>``."""
    found = {event.EVENT: schema_of(event) for events in events_by_command().values() for event in events}
    return {"<prefix>": schema_of(CommandEnding), **found}


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
