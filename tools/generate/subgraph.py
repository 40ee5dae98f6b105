"""docs/subgraph.md: the tables of a query's limits and of entities, from the code of the endpoint."""

from collections.abc import Container, Iterable, Iterator
from typing import Final

from service_api.subgraph.entities import ENTITIES, Entity
from service_api.subgraph.request import MAX_DEPTH, MAX_FIELDS, MAX_INTROSPECTIONS, MAX_SAME_FIELDS, MAX_TOKENS
from service_api.subgraph.rows import MAX_ANSWER_BYTES, MAX_IN, MAX_ROWS

from tools.generate.derived import part, table

_OF_EVERY: Final = {"id", "block_number", "block_hash", "tx_hash", "time"}


def _limits() -> Iterator[str]:
    rows = (
        ("tokens of the query", f"{MAX_TOKENS:,}"),
        ("fields and spread fragments, with every fragment written out", f"{MAX_FIELDS:,}"),
        ("times that one place of the answer, such as `bounties.id`, is named", f"{MAX_SAME_FIELDS:,}"),
        ("levels of fields", f"{MAX_DEPTH:,}"),
        ("`__schema` and `__type` in one query", f"{MAX_INTROSPECTIONS:,}, without aliases inside them"),
        ("rows of all lists together", f"{MAX_ROWS:,}"),
        ("bytes of the answer, estimated from its fields and names", f"{MAX_ANSWER_BYTES // 2**20} MiB"),
        ("values of an `_in` filter", f"{MAX_IN:,}"),
    )
    yield table("| limit | value |", (f"| {what} | {value} |" for what, value in rows))


def _entities() -> Iterator[str]:
    yield table("| entity | list field | shows | fields of its own | rows below it |", map(_row, ENTITIES.values()))


def _row(entity: Entity) -> str:
    fields, below = _names(entity.fields, _OF_EVERY), _names(_below(entity))
    return f"| `{entity.name}` | `{entity.plural}` | {entity.about} | {fields} | {below} |"


def _below(entity: Entity) -> Iterable[str]:
    return entity.children if entity.parent is None else entity.parent[:1]


def _names(names: Iterable[str], without: Container[str] = ()) -> str:
    return ", ".join(f"`{name}`" for name in names if name not in without)


LIMITS: Final = part("docs/subgraph.md", "limits", _limits)
TABLE: Final = part("docs/subgraph.md", "entities", _entities)
