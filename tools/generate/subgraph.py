"""docs/subgraph.md: the tables of a query's limits and of entities, from the code of the endpoint."""

from collections.abc import Iterable, Iterator
from typing import Final, cast

from graphql import GraphQLObjectType, get_named_type
from service_api.subgraph.entities import ENTITIES
from service_api.subgraph.request import MAX_DEPTH, MAX_FIELDS, MAX_INTROSPECTIONS, MAX_SAME_FIELDS, MAX_TOKENS
from service_api.subgraph.rows import MAX_ANSWER_BYTES, MAX_IN, MAX_ROWS
from service_api.subgraph.schema import make_schema

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
    yield table("| entity | list field | shows | fields of its own | rows below it |", map(_row, ENTITIES))


def _row(name: str) -> str:
    kind = cast("GraphQLObjectType", make_schema().type_map[name])
    below = [field for field, of in kind.fields.items() if get_named_type(of.type).name in ENTITIES]
    own = [field for field in kind.fields if field not in {*below, *_OF_EVERY}]
    return f"| `{name}` | `{ENTITIES[name].plural}` | {kind.description} | {_names(own)} | {_names(below)} |"


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


LIMITS: Final = part("docs/subgraph.md", "limits", _limits)
TABLE: Final = part("docs/subgraph.md", "entities", _entities)
