"""Each event of the client from its class, by command, with its JSON Schema."""

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Final, cast

from bounty_protocol.shapes import Kind, ListOf, MapOf, Nested, OneOf, Part, Scalar, parts
from bounty_protocol.wire.values import PLAIN, VALUES, form_of
from service_cli.main import COMMANDS, group
from service_cli.ui.command import HelpedCommand
from service_cli.ui.event import CommandEnding, Event, events_of

Schema = Mapping[str, object]
_WIDTH: Final = 120
_ENDING: Final = r"^[a-z_]+\.(refused|failed)$"


def events_by_command() -> dict[str, tuple[type[Event], ...]]:
    """Return the events of each command that prints any."""
    import click

    context = click.Context(group)
    found = {}
    for name in COMMANDS:
        command = group.get_command(context, name)
        if isinstance(command, HelpedCommand):
            found[name] = events_of(command.prefix)
    if lost := _names_beside_commands() - {event.EVENT for events in found.values() for event in events}:
        reason = "an event's name begins with the second argument of its @command, and no command has"
        raise SystemExit(f"{reason} {', '.join(sorted(lost))}")
    return {name: events for name, events in found.items() if events}


def _names_beside_commands() -> set[str]:
    """Return the name of every event of the modules beside commands, which are imported by now."""
    return {event.EVENT for event in Event.__subclasses__() if event.__module__.endswith("events")} - {""}


def schema_of(event: type[Event]) -> Schema:
    """Return the JSON Schema of an event, with references to ``definitions``."""
    shown = [part for part in parts(cast("type", event)) if part.name not in _HIDDEN.get(event, {"more"})]
    name: Schema = {"type": "string", "pattern": _ENDING} if event is CommandEnding else {"const": event.EVENT}
    return _object(shown, {"event": name}, is_open=event.OPEN)


_HIDDEN: Final[Mapping[type[Event], set[str]]] = {CommandEnding: {"prefix", "is_refusal"}}


def definitions() -> Mapping[str, Schema]:
    """Return the values that events have in common, as the public interface names them."""
    used = json.dumps([schema_of(event) for events in events_by_command().values() for event in events])
    forms = {form.name: form.schema for form in VALUES.values() if form.name}
    return {
        name: {key: value for key, value in schema.items() if key != "description"}
        for name, schema in forms.items()
        if f'"#/$defs/{name}"' in used
    }


def _object(shown: list[Part], first: Mapping[str, Schema] | None = None, *, is_open: bool = False) -> Schema:
    properties = dict(first or {}) | {part.name: _part(part) for part in shown}
    required = [*(first or {}), *(part.name for part in shown if not part.omitted)]
    closed: Schema = {} if is_open else {"additionalProperties": False}
    return {"type": "object", "properties": properties, "required": required, **closed}


def _part(part: Part) -> Schema:
    schema = dict(_kind(part.kind))
    limits = {"minimum": part.note.minimum, "maximum": part.note.maximum, "pattern": part.note.pattern or None}
    schema |= {key: value for key, value in limits.items() if value is not None}
    return {"anyOf": [schema, {"type": "null"}]} if part.nullable and not part.omitted else schema


def _kind(kind: Kind) -> Schema:
    match kind:
        case Nested(shape):
            return _object(list(parts(shape)))
        case ListOf(of):
            return {"type": "array", "items": _kind(of)}
        case OneOf(values):
            return {"enum": list(values)}
        case MapOf(_, of):
            return {"type": "object", "additionalProperties": _kind(of)}
        case Scalar(of):
            if (form := form_of(of)) is None:
                return {"type": PLAIN[of].json}
            found = {key: value for key, value in form.schema.items() if key != "description"}
            return {"$ref": f"#/$defs/{form.name}"} if form.name else found


def page() -> Iterator[str]:
    """Yield the blocks of the page of events."""
    yield "# The client's events"
    yield (
        "`service-cli` prints one JSON object per line ([scripts and JSON](../client.md#scripts-and-json)). "
        "A field is added with a minor version; renaming or removing one is a major version."
    )
    yield "The shared definitions, which `$ref` points to:"
    yield _block({"$defs": definitions()})
    yield "## Every command: how it ends otherwise than well"
    yield from _entry("`<prefix>.refused`, `<prefix>.failed`", CommandEnding)
    for command, events in events_by_command().items():
        yield f"## `service-cli {command}`"
        for event in events:
            yield from _entry(f"`{event.EVENT}`", event)


def _entry(title: str, event: type[Event]) -> Iterator[str]:
    yield f"### {title}"
    yield textwrap.fill(" ".join((event.__doc__ or "").split()), _WIDTH, break_long_words=False, break_on_hyphens=False)
    yield _block(schema_of(event))


def _block(value: Schema) -> str:
    return f"```json\n{_laid_out(value)}\n```"


def _laid_out(value: object, indent: str = "") -> str:
    """Return JSON with what fits into a line on it."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or (indent and len(indent) + len(line) <= _WIDTH - 20):
        return line
    inner = indent + "  "
    if isinstance(value, list):
        rows, (begin, end) = [_laid_out(each, inner) for each in value], "[]"
    else:
        rows, (begin, end) = [f"{json.dumps(key)}: {_laid_out(each, inner)}" for key, each in value.items()], "{}"
    return f"{begin}\n" + ",\n".join(inner + row for row in rows) + f"\n{indent}{end}"
