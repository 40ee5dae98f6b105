"""The GraphQL schema, built from the entities.

Every entity has a list field with ``where``, ``orderBy``, ``orderDirection``, ``first`` and ``skip`` and a single field
by ``id``; ``_meta`` names the block that the answer is of. Filters are those of The Graph: a field's name alone, or
with ``_not``, ``_gt``, ``_gte``, ``_lt``, ``_lte``, ``_in``, ``_not_in``. Resolvers read rows that were loaded before
(``rows``).
"""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, Final, cast

from bounty_protocol.chain.deployment import caip_10
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

from service_api.subgraph.entities import AMOUNT, ENTITIES, NUMBER, TEXT, TEXTS, Entity
from service_api.subgraph.scalars import BIG_INT, INTEGER

DEFAULT_FIRST: Final = 100
Row = Mapping[str, Any]


SCALARS: Final[Mapping[str, GraphQLScalarType]] = {AMOUNT: BIG_INT, NUMBER: INTEGER, TEXT: GraphQLString}
DIRECTION: Final = GraphQLEnumType(
    "OrderDirection", {"asc": "asc", "desc": "desc"}, description="The smallest first, or the largest."
)
OPERATORS: Final[Mapping[str, Callable[[Any, Any], ColumnElement[bool]]]] = {
    "": lambda column, value: column == value,
    "_not": lambda column, value: column != value,
    "_gt": lambda column, value: column > value,
    "_gte": lambda column, value: column >= value,
    "_lt": lambda column, value: column < value,
    "_lte": lambda column, value: column <= value,
    "_in": lambda column, value: column.in_(value),
    "_not_in": lambda column, value: column.not_in(value),
}

OF_LISTS: Final[Mapping[str, Callable[[Any, Any], ColumnElement[bool]]]] = {
    "_contains": lambda column, value: column.contains(value),
}
"""Those of a field that is a list."""
LISTED: Final = {"_in", "_not_in", *OF_LISTS}
"""The operators that take a list."""
FROM_BLOCK: Final = GraphQLArgument(
    GraphQLInputObjectType(
        "Block_height",
        {"number_gte": GraphQLInputField(GraphQLNonNull(INTEGER), description="The block of your own transaction.")},
        description="A block that the index has to have reached.",
    ),
    description="Refuse to answer before the index has reached this block, with 503 and when to ask again.",
)


@cache
def make_schema() -> GraphQLSchema:
    """The schema of the endpoint."""
    types: dict[str, GraphQLObjectType] = {}
    for entity in ENTITIES.values():
        types[entity.name] = _object_type(entity, types)
    fields: dict[str, GraphQLField] = {}
    for entity in ENTITIES.values():
        fields[entity.plural] = _list_field(entity, types[entity.name], block=FROM_BLOCK)
        fields[single_field_name(entity)] = _single_field(types[entity.name])
    fields["_meta"] = GraphQLField(
        GraphQLNonNull(_meta_type()),
        {"block": FROM_BLOCK},
        resolve=_meta,
        description="The moment of the index that the answer is of.",
    )
    return GraphQLSchema(GraphQLObjectType("Query", fields, description="The indexed Hub log."))


def single_field_name(entity: Entity) -> str:
    """``guardian_roster`` for ``GuardianRoster``."""
    return re.sub("(?<!^)[A-Z]", lambda capital: f"_{capital[0]}", entity.name).lower()


def list_field_of(entity: Entity, name: str) -> GraphQLField:
    """The definition of an entity's list or single field: both take the same arguments wherever they are."""
    return query_fields()[name if name == single_field_name(entity) else entity.plural]


def query_fields() -> Mapping[str, GraphQLField]:
    """The fields at the top of a query."""
    fields: Mapping[str, GraphQLField] = cast("GraphQLObjectType", make_schema().query_type).fields
    return fields


def rows_key(key: str) -> str:
    """Where the rows of a field are found in its parent, by the field's key in the answer; no column is named so."""
    return f"@{key}"


def _object_type(entity: Entity, types: Mapping[str, GraphQLObjectType]) -> GraphQLObjectType:
    def fields() -> dict[str, GraphQLField]:
        key = GraphQLField(GraphQLNonNull(GraphQLID), resolve=_column("id", TEXT), description=entity.note("id"))
        plain = {"id": key} | {name: _plain_field(entity, name, kind) for name, kind in entity.fields.items()}
        for name, (child, _) in entity.children.items():
            plain[name] = _list_field(ENTITIES[child], types[child], entity.note(name))
        if entity.parent is not None:
            name, parent, _ = entity.parent
            plain[name] = GraphQLField(GraphQLNonNull(types[parent]), resolve=_one_row, description=entity.note(name))
        return plain

    return GraphQLObjectType(entity.name, fields, description=entity.about)


def operators_of(kind: str) -> Mapping[str, Callable[[Any, Any], ColumnElement[bool]]]:
    """The filters of a field of this type."""
    return OF_LISTS if kind == TEXTS else OPERATORS


def _plain_field(entity: Entity, name: str, kind: str) -> GraphQLField:
    """A field of a row: of one of few values an enumeration, and never null where the row always has it."""
    shown: Any = GraphQLList(GraphQLNonNull(GraphQLString)) if kind == TEXTS else SCALARS[kind]
    if (values := entity.values.get(name)) is not None:
        shown = _values_type(values)
    always = name not in entity.nullable
    return GraphQLField(
        GraphQLNonNull(shown) if always else shown, resolve=_column(name, kind), description=entity.note(name)
    )


@cache
def _values_type(values: type[StrEnum]) -> GraphQLEnumType:
    return GraphQLEnumType(values.__name__, {each.value: each.value for each in values}, description=values.__doc__)


def _column(name: str, kind: str) -> Callable[[Row, GraphQLResolveInfo[Head]], object]:
    def resolve(row: Row, _info: GraphQLResolveInfo[Head]) -> object:
        value = row[name]
        return str(value) if kind == TEXT and isinstance(value, int) else value

    return resolve


def _one_row(parent: Row, info: GraphQLResolveInfo[Head], **_arguments: Any) -> Row | None:
    rows = cast("list[Row]", parent[rows_key(str(info.path.key))])
    return rows[0] if rows else None


def _list_field(
    entity: Entity, kind: GraphQLObjectType, description: str | None = None, **more: GraphQLArgument
) -> GraphQLField:
    def resolve(parent: Row, info: GraphQLResolveInfo[Head], **_arguments: Any) -> list[Row]:
        return cast("list[Row]", parent[rows_key(str(info.path.key))])

    arguments = {
        "where": GraphQLArgument(_filter_type(entity), description="What rows must have, all of it."),
        "orderBy": GraphQLArgument(_order_type(entity), description="By which field; without it the first one."),
        "orderDirection": GraphQLArgument(DIRECTION, default_value="asc", description="Which end comes first."),
        "first": GraphQLArgument(GraphQLInt, default_value=DEFAULT_FIRST, description="How many rows: 1 to 1,000."),
        "skip": GraphQLArgument(GraphQLInt, default_value=0, description="How many are left out before: 0 to 5,000."),
        **more,
    }
    many = GraphQLNonNull(GraphQLList(GraphQLNonNull(kind)))
    return GraphQLField(many, arguments, resolve=resolve, description=description or entity.about)


def _single_field(kind: GraphQLObjectType) -> GraphQLField:
    arguments = {
        "id": GraphQLArgument(GraphQLNonNull(GraphQLID), description="The row's own id."),
        "block": FROM_BLOCK,
    }
    return GraphQLField(kind, arguments, resolve=_one_row, description="The one of this id.")


@cache
def _filter_type_by_name(name: str) -> GraphQLInputObjectType:
    entity = ENTITIES[name]
    fields: dict[str, GraphQLInputField] = {}
    for field, kind in {"id": TEXT, **entity.fields}.items():
        for operator in operators_of(kind):
            scalar = SCALARS[TEXT if kind == TEXTS else kind]
            fields[field + operator] = GraphQLInputField(
                GraphQLList(GraphQLNonNull(scalar)) if operator in LISTED else scalar
            )
    about = "By a field's own value, or with an operator behind its name. null is: has no value; _not: has one."
    return GraphQLInputObjectType(f"{name}_filter", fields, description=about)


def _filter_type(entity: Entity) -> GraphQLInputObjectType:
    return _filter_type_by_name(entity.name)


@cache
def _order_type_by_name(name: str) -> GraphQLEnumType:
    plain = ENTITIES[name].fields.items()
    fields = {field: field for field in ("id", *(field for field, kind in plain if kind != TEXTS))}
    return GraphQLEnumType(f"{name}_orderBy", fields, description="A field to sort by.")


def _order_type(entity: Entity) -> GraphQLEnumType:
    return _order_type_by_name(entity.name)


def _meta_type() -> GraphQLObjectType:
    block = GraphQLObjectType(
        "_Block_",
        {
            "hash": GraphQLField(GraphQLNonNull(GraphQLString), description="Its hash."),
            "number": GraphQLField(GraphQLNonNull(INTEGER), description="Its number."),
            "timestamp": GraphQLField(GraphQLNonNull(INTEGER), description="Its time, in seconds."),
        },
        description="A block of the chain.",
    )
    return GraphQLObjectType(
        "_Meta_",
        {
            "block": GraphQLField(GraphQLNonNull(block), description="The newest that is indexed."),
            "finalized_block_number": GraphQLField(
                GraphQLNonNull(INTEGER), description="Up to which block nothing is taken back."
            ),
            "deployment": GraphQLField(
                GraphQLNonNull(GraphQLString), description="Which Hub is indexed, as eip155:CHAIN:ADDRESS (CAIP-10)."
            ),
            "hasIndexingErrors": GraphQLField(GraphQLNonNull(GraphQLBoolean), description="Whether it has halted."),
        },
        description="The moment of the index that an answer is of.",
    )


def _meta(_root: Row, info: GraphQLResolveInfo[Head], **_arguments: Any) -> dict[str, object]:
    head = info.context
    return {
        "block": {"hash": head.block_hash, "number": head.block_number, "timestamp": head.block_time},
        "finalized_block_number": head.finalized_number,
        "deployment": caip_10(head.chain_id, head.hub_address),
        "hasIndexingErrors": head.halted is not None,
    }
