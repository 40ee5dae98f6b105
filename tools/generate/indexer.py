"""docs/indexer.md: the tables of the copy, from their definitions."""

from collections.abc import Iterator
from typing import Final

from bounty_protocol.domain.hub_events import EVENT_FIELDS
from service_common.db.hub_index import meaning_of, metadata
from sqlalchemy import Table

from tools.generate.derived import part, table


def _tables() -> Iterator[str]:
    yield table("| table | from the event | one row is |", map(_row, metadata.tables.values()))


def _row(table: Table) -> str:
    about, events, _ = meaning_of(table)
    every = len(events) == len(EVENT_FIELDS)
    names = "every one" if every else ", ".join(f"`{event.__name__}`" for event in events)
    return " ".join(f"| {cell}".rstrip() for cell in (f"`{table.name}`", names, about)) + " |"


TABLES: Final = part("docs/indexer.md", "indexer", _tables)
