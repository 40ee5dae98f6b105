"""The classes of the client's events, and an event made of its fields as JSON."""

from collections.abc import Mapping
from functools import cache
from typing import cast

from bounty_protocol.shapes import parts
from bounty_protocol.wire.reading import read
from service_cli.ui.event import Event

from tools.reference.events import events_by_command


@cache
def kinds() -> Mapping[str, type[Event]]:
    """Each event's class by its name."""
    return {event.EVENT: event for events in events_by_command().values() for event in events}


def made(name: str, fields: Mapping[str, object]) -> Event:
    """The event; ``ValueError`` for fields that are not of its shape, ``KeyError`` for a name that no event has."""
    kind = kinds()[name]
    known = {part.name for part in parts(cast("type", kind))}
    more = {"more": {key: value for key, value in fields.items() if key not in known}} if kind.OPEN else {}
    return read(kind, dict(fields) | more)
