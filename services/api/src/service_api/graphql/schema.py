"""The GraphQL schema, built from the entities.

Every entity has a list field with ``where``, ``orderBy``, ``orderDirection``, ``first`` and ``skip`` and a single field
by ``id``; ``_meta`` names the block that the answer is of. Filters are those of The Graph: a field's name alone, or
with ``_not``, ``_gt``, ``_gte``, ``_lt``, ``_lte``, ``_in``. Resolvers read rows that were loaded before (``rows``).
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from typing import Any, Final, cast

from bounty_protocol.types import MAX_UINT256, parse_decimal
from graphql import (
    GraphQLArgument,
    GraphQLBoolean,
    GraphQLEnumType,
    GraphQLField,
    GraphQLID,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInt,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLResolveInfo,
    GraphQLScalarType,
    GraphQLSchema,
    GraphQLString,
)
from service_common.db.hub_reads import Head
from sqlalchemy import ColumnElement

from service_api.graphql.entities import AMOUNT, ENTITIES, NUMBER, TEXT, Entity

DEFAULT_FIRST: Final = 100
Row = Mapping[str, Any]


def _decimal_text(value: object) -> str:
    return str(int(cast("Decimal", value)))


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


BIG_INT: Final = GraphQLScalarType(
    "BigInt", serialize=_decimal_text, parse_value=_amount, description=f"A decimal string up to {MAX_UINT256}."
)
INTEGER: Final = GraphQLScalarType("Integer", serialize=int, parse_value=_integer, description="A whole 64-bit number.")
SCALARS: Final[Mapping[str, GraphQLScalarType]] = {AMOUNT: BIG_INT, NUMBER: INTEGER, TEXT: GraphQLString}
DIRECTION: Final = GraphQLEnumType("OrderDirection", {"asc": "asc", "desc": "desc"})
OPERATORS: Final[Mapping[str, Callable[[Any, Any], ColumnElement[bool]]]] = {
    "": lambda column, value: column == value,
    "_not": lambda column, value: column != value,
    "_gt": lambda column, value: column > value,
    "_gte": lambda column, value: column >= value,
    "_lt": lambda column, value: column < value,
    "_lte": lambda column, value: column <= value,
    "_in": lambda column, value: column.in_(value),
}


@cache
def make_schema() -> GraphQLSchema:
    """The schema of the endpoint."""
    types: dict[str, GraphQLObjectType] = {}
    for entity in ENTITIES.values():
        types[entity.name] = _object_type(entity, types)
    fields: dict[str, GraphQLField] = {}
    for entity in ENTITIES.values():
        fields[entity.plural] = _list_field(entity, types[entity.name])
        name, *former = single_field_names(entity)
        fields[name] = _single_field(types[entity.name])
        for each in former:
            fields[each] = _single_field(types[entity.name], f"Use {name}; this one goes with the next release.")
    fields["_meta"] = GraphQLField(GraphQLNonNull(_meta_type()), resolve=_meta)
    return GraphQLSchema(GraphQLObjectType("Query", fields))


def single_field_names(entity: Entity) -> tuple[str, ...]:
    """``guardian_roster`` for ``GuardianRoster``, and the former ``guardianRoster``, which is deprecated."""
    former = entity.name[0].lower() + entity.name[1:]
    return tuple(dict.fromkeys((re.sub("[A-Z]", lambda capital: f"_{capital[0].lower()}", former), former)))


def list_field_of(entity: Entity, name: str) -> GraphQLField:
    """The definition of an entity's list or single field: both take the same arguments wherever they are."""
    query = cast("GraphQLObjectType", make_schema().query_type)
    field: GraphQLField = query.fields[name if name in single_field_names(entity) else entity.plural]
    return field


def rows_key(key: str) -> str:
    """Where the rows of a field are found in its parent, by the field's key in the answer; no column is named so."""
    return f"@{key}"


def _object_type(entity: Entity, types: Mapping[str, GraphQLObjectType]) -> GraphQLObjectType:
    def fields() -> dict[str, GraphQLField]:
        plain = {"id": GraphQLField(GraphQLNonNull(GraphQLID), resolve=_column("id", TEXT))}
        plain |= {
            name: GraphQLField(SCALARS[kind], resolve=_column(name, kind), description=entity.notes.get(name))
            for name, kind in entity.fields.items()
        }
        for name, (child, _) in entity.children.items():
            plain[name] = _list_field(ENTITIES[child], types[child])
        return plain

    return GraphQLObjectType(entity.name, fields)


def _column(name: str, kind: str) -> Callable[[Row, GraphQLResolveInfo[Head]], object]:
    def resolve(row: Row, _info: GraphQLResolveInfo[Head]) -> object:
        value = row[name]
        return str(value) if kind == TEXT and isinstance(value, int) else value

    return resolve


def _list_field(entity: Entity, kind: GraphQLObjectType) -> GraphQLField:
    def resolve(parent: Row, info: GraphQLResolveInfo[Head], **_arguments: Any) -> list[Row]:
        return cast("list[Row]", parent[rows_key(str(info.path.key))])

    arguments = {
        "where": GraphQLArgument(_filter_type(entity)),
        "orderBy": GraphQLArgument(_order_type(entity)),
        "orderDirection": GraphQLArgument(DIRECTION, default_value="asc"),
        "first": GraphQLArgument(GraphQLInt, default_value=DEFAULT_FIRST),
        "skip": GraphQLArgument(GraphQLInt, default_value=0),
    }
    return GraphQLField(GraphQLNonNull(GraphQLList(GraphQLNonNull(kind))), arguments, resolve=resolve)


def _single_field(kind: GraphQLObjectType, deprecation_reason: str | None = None) -> GraphQLField:
    def resolve(root: Row, info: GraphQLResolveInfo[Head], **_arguments: Any) -> Row | None:
        rows = cast("list[Row]", root[rows_key(str(info.path.key))])
        return rows[0] if rows else None

    arguments = {"id": GraphQLArgument(GraphQLNonNull(GraphQLID))}
    return GraphQLField(kind, arguments, resolve=resolve, deprecation_reason=deprecation_reason)


@cache
def _filter_type_by_name(name: str) -> GraphQLInputObjectType:
    entity = ENTITIES[name]
    fields: dict[str, GraphQLInputField] = {}
    for field, kind in {"id": TEXT, **entity.fields}.items():
        for operator in OPERATORS:
            scalar = SCALARS[kind]
            fields[field + operator] = GraphQLInputField(
                GraphQLList(GraphQLNonNull(scalar)) if operator == "_in" else scalar
            )
    return GraphQLInputObjectType(f"{name}_filter", fields)


def _filter_type(entity: Entity) -> GraphQLInputObjectType:
    return _filter_type_by_name(entity.name)


@cache
def _order_type_by_name(name: str) -> GraphQLEnumType:
    return GraphQLEnumType(f"{name}_orderBy", {field: field for field in ("id", *ENTITIES[name].fields)})


def _order_type(entity: Entity) -> GraphQLEnumType:
    return _order_type_by_name(entity.name)


def _meta_type() -> GraphQLObjectType:
    block = GraphQLObjectType(
        "_Block_",
        {
            "hash": GraphQLField(GraphQLNonNull(GraphQLString)),
            "number": GraphQLField(GraphQLNonNull(INTEGER)),
            "timestamp": GraphQLField(GraphQLNonNull(INTEGER)),
        },
    )
    return GraphQLObjectType(
        "_Meta_",
        {
            "block": GraphQLField(GraphQLNonNull(block)),
            "finalized_block_number": GraphQLField(GraphQLNonNull(INTEGER)),
            "hasIndexingErrors": GraphQLField(GraphQLNonNull(GraphQLBoolean)),
        },
    )


def _meta(_root: Row, info: GraphQLResolveInfo[Head]) -> dict[str, object]:
    head = info.context
    return {
        "block": {"hash": head.block_hash, "number": head.block_number, "timestamp": head.block_time},
        "finalized_block_number": head.finalized_number,
        "hasIndexingErrors": head.halted is not None,
    }
