"""The GraphQL schema, built from the entities.

Promises: every entity has a list field with ``where``, ``orderBy``, ``orderDirection``, ``first`` and ``skip`` and a
single field by ``id``; ``_meta`` says which block the answer is of. Filters are those of The Graph: a field's name
alone, or with ``_not``, ``_gt``, ``_gte``, ``_lt``, ``_lte``, ``_in``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, Final, cast

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
from service_common.db.hub_facts import HubFacts
from service_common.types import MAX_UINT256, parse_bounty_id, parse_decimal
from sqlalchemy import BigInteger, ColumnElement, Numeric, select
from sqlalchemy import cast as sql_cast

from service_api.graphql.entities import AMOUNT, ENTITIES, NUMBER, TEXT, Entity

MAX_FIRST: Final = 1_000
DEFAULT_FIRST: Final = 100
MAX_SKIP: Final = 5_000
Row = Mapping[str, object]


@dataclass(slots=True)
class Request:
    """What the resolvers of one request share. ``rows_left`` bounds its cost."""

    facts: HubFacts
    rows_left: int


class CostExceeded(Exception):
    """The query asks for more rows than one request may."""


def _decimal_text(value: object) -> str:
    return str(int(cast("Decimal", value)))


def _amount(value: object) -> Decimal:
    if not isinstance(value, str):
        raise ValueError("an amount is a decimal string")
    return Decimal(parse_decimal(value))


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise ValueError("a whole number")
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
        fields[entity.name[0].lower() + entity.name[1:]] = _single_field(entity, types[entity.name])
    fields["_meta"] = GraphQLField(GraphQLNonNull(_meta_type()), resolve=_meta)
    return GraphQLSchema(GraphQLObjectType("Query", fields))


def _object_type(entity: Entity, types: Mapping[str, GraphQLObjectType]) -> GraphQLObjectType:
    def fields() -> dict[str, GraphQLField]:
        plain = {"id": GraphQLField(GraphQLNonNull(GraphQLID), resolve=_column("id", TEXT))}
        plain |= {
            name: GraphQLField(SCALARS[kind], resolve=_column(name, kind)) for name, kind in entity.fields.items()
        }
        for name, (child, key) in entity.children.items():
            plain[name] = _list_field(ENTITIES[child], types[child], key)
        return plain

    return GraphQLObjectType(entity.name, fields)


def _column(name: str, kind: str) -> Callable[[Row, GraphQLResolveInfo[Request]], object]:
    def resolve(row: Row, _info: GraphQLResolveInfo[Request]) -> object:
        value = row[name]
        return str(value) if kind == TEXT and isinstance(value, int) else value

    return resolve


def _list_field(entity: Entity, kind: GraphQLObjectType, parent_key: str | None = None) -> GraphQLField:
    def resolve(parent: Row | None, info: GraphQLResolveInfo[Request], **arguments: Any) -> list[Row]:
        request = info.context
        conditions = _conditions(entity, arguments.get("where") or {})
        if parent_key is not None and parent is not None:
            conditions.append(entity.rows.c[parent_key] == parent[parent_key])
        return _fetch(entity, request, conditions, arguments)

    arguments = {
        "where": GraphQLArgument(_filter_type(entity)),
        "orderBy": GraphQLArgument(_order_type(entity)),
        "orderDirection": GraphQLArgument(DIRECTION, default_value="asc"),
        "first": GraphQLArgument(GraphQLInt, default_value=DEFAULT_FIRST),
        "skip": GraphQLArgument(GraphQLInt, default_value=0),
    }
    return GraphQLField(GraphQLNonNull(GraphQLList(GraphQLNonNull(kind))), arguments, resolve=resolve)


def _single_field(entity: Entity, kind: GraphQLObjectType) -> GraphQLField:
    def resolve(_root: None, info: GraphQLResolveInfo[Request], **arguments: Any) -> Row | None:
        rows = _fetch(entity, info.context, [entity.rows.c.id == arguments["id"]], {"first": 1})
        return rows[0] if rows else None

    return GraphQLField(kind, {"id": GraphQLArgument(GraphQLNonNull(GraphQLID))}, resolve=resolve)


def _fetch(
    entity: Entity, request: Request, conditions: list[ColumnElement[bool]], arguments: Mapping[str, Any]
) -> list[Row]:
    first, skip = arguments.get("first", DEFAULT_FIRST), arguments.get("skip", 0)
    if not 1 <= first <= MAX_FIRST or not 0 <= skip <= MAX_SKIP:
        raise ValueError(f"first is 1 to {MAX_FIRST}, skip 0 to {MAX_SKIP}")
    order = entity.rows.c[arguments.get("orderBy") or next(iter(entity.fields))]
    ordered = order.desc() if arguments.get("orderDirection") == "desc" else order.asc()
    statement = select(entity.rows).where(*conditions).order_by(ordered, entity.rows.c.id).offset(skip).limit(first)
    rows = [dict(row) for row in request.facts.connection.execute(statement).mappings()]
    request.rows_left -= len(rows) + 1
    if request.rows_left < 0:
        raise CostExceeded
    return cast("list[Row]", rows)


def _conditions(entity: Entity, where: Mapping[str, Any]) -> list[ColumnElement[bool]]:
    found = []
    for key, value in where.items():
        name, operator = _split(entity, key)
        column: Any = entity.rows.c[name]
        if entity.fields.get(name) == AMOUNT:
            column = sql_cast(column, Numeric(78, 0))
        elif name == "bounty_id":
            value = [parse_bounty_id(v) for v in value] if operator == "_in" else parse_bounty_id(value)  # noqa: PLW2901
            column = sql_cast(column, BigInteger)
        found.append(OPERATORS[operator](column, value))
    return found


def _split(entity: Entity, key: str) -> tuple[str, str]:
    """``escrow_amount_gte`` as the field and the operator."""
    for operator in sorted(OPERATORS, key=len, reverse=True):
        name = key.removesuffix(operator) if operator else key
        if key.endswith(operator) and (name in entity.fields or name == "id"):
            return name, operator
    raise KeyError(key)


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


def _meta(_root: None, info: GraphQLResolveInfo[Request]) -> dict[str, object]:
    head = info.context.facts.head
    return {
        "block": {"hash": head.block_hash, "number": head.block_number, "timestamp": head.block_time},
        "finalized_block_number": head.finalized_number,
        "hasIndexingErrors": head.halted is not None,
    }
