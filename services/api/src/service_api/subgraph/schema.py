"""The GraphQL schema: the types of ``schema.graphql``, and for each of them its lists, filters and orders.

Every type of the index has a list field with ``where``, ``orderBy``, ``orderDirection``, ``first`` and ``skip`` and a
single field by ``id``; ``_meta`` names the block that the answer is of. Filters are those of The Graph: a field's name
alone, or with an operator of ``OPERATORS``.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any, Final, cast

from bounty_protocol.types import MAX_UINT256, parse_decimal
from graphql import GraphQLNamedType, GraphQLObjectType, GraphQLScalarType, GraphQLSchema, build_schema
from sqlalchemy import ColumnElement

from service_api.subgraph.entities import ENTITIES

OPERATORS: Final[Mapping[str, Callable[[Any, Any], ColumnElement[bool]]]] = {
    "": lambda column, value: column == value,
    "_not": lambda column, value: column != value,
    "_gt": lambda column, value: column > value,
    "_gte": lambda column, value: column >= value,
    "_lt": lambda column, value: column < value,
    "_lte": lambda column, value: column <= value,
    "_in": lambda column, value: column.in_(value),
    "_not_in": lambda column, value: column.not_in(value),
    "_contains": lambda column, value: column.contains(value),
}
_LISTED: Final = ("_in", "_not_in", "_contains")
_TYPES: Final = files(__package__).joinpath("schema.graphql").read_text(encoding="utf-8")
_LIST: Final = """(
    \"""Conditions that each row must meet.\"""
    where: {0}_filter
    \"""The field to order by; by default the first one.\"""
    orderBy: {0}_orderBy
    \"""Ascending or descending.\"""
    orderDirection: OrderDirection = asc
    \"""How many rows: 1 to 1,000.\"""
    first: Int = 100
    \"""How many rows to skip: 0 to 5,000.\"""
    skip: Int = 0{1}
): [{0}!]!"""
_BLOCK: Final = """
    \"""Until the index has reached this block, answer 503 and when to retry.\"""
    block: Block_height"""
_FILTERS: Final = "A field's own value, or an operator after its name. null means no value; with _not, any value."


@cache
def make_schema() -> GraphQLSchema:
    """Return the schema of the endpoint."""
    types = build_schema(_TYPES, assume_valid=True).type_map
    listed = re.sub(r": \[(\w+)!\]!$", lambda found: _LIST.format(found[1], ""), _TYPES, flags=re.MULTILINE)
    schema = build_schema("\n".join([listed, *(_inputs(types[name]) for name in ENTITIES), _query(types)]))
    _read_and_write(schema, "BigInt", _amount, lambda value: str(int(value)))
    _read_and_write(schema, "Integer", _integer, int)
    return schema


def _query(types: Mapping[str, GraphQLNamedType]) -> str:
    fields = []
    for name, entity in ENTITIES.items():
        single = re.sub("(?<!^)[A-Z]", lambda capital: f"_{capital[0]}", name).lower()
        fields += [f'"""{types[name].description}"""', entity.plural + _LIST.format(name, _BLOCK)]
        fields += ['"""The row with this id."""', f'{single}("""The row\'s own id."""\nid: ID!{_BLOCK}): {name}']
    fields += ['"""The state of the index that the answer shows."""', f"_meta({_BLOCK}): _Meta_!"]
    return '"""The indexed Hub log."""\ntype Query {\n' + "\n".join(fields) + "\n}"


def _inputs(kind: GraphQLNamedType) -> str:
    """Return the filters and orders of a type, by those of its fields that are columns."""
    fields = {name: str(field.type).strip("!") for name, field in cast("GraphQLObjectType", kind).fields.items()}
    columns = {name: of for name, of in fields.items() if of.strip("[]!") not in ENTITIES}
    order = "\n".join(name for name, of in columns.items() if not of.startswith("["))
    filters = "\n".join(each for name, of in columns.items() for each in _filters(name, of))
    return (
        f'"""{_FILTERS}"""\ninput {kind.name}_filter {{\n{filters}\n}}\n'
        f'"""A field to sort by."""\nenum {kind.name}_orderBy {{\n{order}\n}}'
    )


def _filters(name: str, of: str) -> Iterator[str]:
    scalar = of if of in {"BigInt", "Integer"} else "String"
    for operator in OPERATORS:
        if of.startswith("[") == (operator == "_contains"):
            yield f"{name}{operator}: " + (f"[{scalar}!]" if operator in _LISTED else scalar)


def _read_and_write(schema: GraphQLSchema, name: str, read: Callable[[Any], Any], write: Callable[[Any], Any]) -> None:
    scalar = cast(GraphQLScalarType, schema.type_map[name])
    scalar.coerce_input_value, scalar.coerce_output_value = read, write


def _amount(value: object) -> Decimal:
    try:
        if isinstance(value, str) and (amount := parse_decimal(value)) <= MAX_UINT256:
            return Decimal(amount)
    except ValueError:
        pass
    raise ValueError(f"an amount is a decimal string up to {MAX_UINT256}")


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise ValueError("must be a whole number from 0 to 9223372036854775807")
    return value
