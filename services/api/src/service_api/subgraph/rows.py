"""From a valid request to the rows that answer it: one statement for each list that the query names.

A nested list is one statement for all its parents, so that the number of statements depends on the query alone. Rows
and the bytes of the answer are counted as they come, and what exceeds them ends the request.
"""

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, cast

import psycopg
from bounty_protocol.types import parse_bounty_id
from graphql import (
    FieldNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLIncludeDirective,
    GraphQLSkipDirective,
    InlineFragmentNode,
    SelectionSetNode,
)
from graphql.execution import get_argument_values, get_directive_values
from service_common.db.hub_reads import by_sorting
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Numeric,
    Select,
    event,
    false,
    func,
    select,
    text,
    tuple_,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.exc import DBAPIError

from service_api.subgraph.entities import AMOUNT, ENTITIES, NUMBER, TEXT, Entity
from service_api.subgraph.request import GraphQLRequest, refuse
from service_api.subgraph.schema import (
    DEFAULT_FIRST,
    OF_LISTS,
    OPERATORS,
    list_field_of,
    operators_of,
    query_fields,
    rows_key,
    single_field_name,
)

MAX_ROWS: Final = 5_000
MAX_ANSWER_BYTES: Final = 2 * 1024 * 1024
MAX_FIRST: Final = 1_000
MAX_SKIP: Final = 5_000
MAX_IN: Final = 500
STATEMENT_SECONDS: Final = 2.0
TOTAL_SECONDS: Final = 4.0
_VALUE_BYTES: Final = 80
"""The bytes of a value and its punctuation in the answer: hashes are 66 characters."""
_MAX_BIGINT: Final = 2**63 - 1
_ORDERED_AS: Final = {"time": "block_number", "settled_at": "settled_block"}
"""A block is later than its parent, so both orders are the same, and only one has indexes."""
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
_TEXTS: Final = {"title", "summary", "withheld_reason"}
"""Columns that hold what a person wrote, of up to 8,000 bytes; all others are short."""
_ONE_OF_EACH: Final[Mapping[str, Any]] = {"conditions": (), "order": (), "first": 1, "skip": 0}
Row = dict[str, Any]


class TookTooLong(Exception):
    """A statement of one request took longer than ``STATEMENT_SECONDS``, or all of them than ``TOTAL_SECONDS``."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """One list, or one single entity, that a query names, with what it wants of each row."""

    entity: Entity
    key: str
    parent_column: str | None
    conditions: tuple[ColumnElement[bool], ...]
    order: tuple[ColumnElement[Any], ...]
    first: int
    skip: int
    columns: tuple[str, ...]
    row_bytes: int
    texts: tuple[tuple[str, int], ...]
    """The columns with a text of any length, and how often the answer has each."""
    children: tuple["Fetch", ...]
    of_one: bool = False
    """Whether it is the one row that each row above belongs to, which is in the answer as often as those."""

    def size_of(self, row: Row) -> int:
        """About how many bytes of the answer a row is, each time that it is in there."""
        return self.row_bytes + sum(
            times * len(value.encode()) for name, times in self.texts if (value := row[name]) is not None
        )

    def statement(self, parents: list[object] | None, most: int) -> Select[Any]:
        """At most ``most`` rows: of the whole, or of each parent."""
        c = self.entity.rows.c
        columns = [c[name] for name in self.columns]
        if parents is None or self.parent_column is None:
            found = select(*columns).where(*self.conditions).order_by(*self.order).offset(self.skip)
            return found.limit(min(self.first, most))
        shared = c[self.parent_column]
        if self.of_one:
            return select(*columns).where(shared.in_(parents)).limit(most)
        place = func.row_number().over(partition_by=shared, order_by=self.order).label("place")
        ranked = select(*columns, place).where(shared.in_(parents), *self.conditions).subquery("ranked")
        wanted = ranked.c.place.between(self.skip + 1, self.skip + self.first)
        return select(ranked).where(wanted).order_by(ranked.c[self.parent_column], ranked.c.place).limit(most)


@dataclass(slots=True)
class RequestLimits:
    """The rest of one request's limits."""

    rows: int = MAX_ROWS
    answer_bytes: int = MAX_ANSWER_BYTES
    ends: float = field(default_factory=lambda: time.monotonic() + TOTAL_SECONDS)

    def require_time(self) -> None:
        """Raise ``TookTooLong`` where the statements before took all that there is."""
        if time.monotonic() > self.ends:
            raise TookTooLong

    def take(self, fetch: Fetch, rows: list[Row]) -> None:
        """Count what a statement found; 400 where the answer becomes too large."""
        self.rows -= len(rows) + 1
        if self.rows < 0:
            refuse(f"asks for more than {MAX_ROWS} rows; ask for fewer, and for the next by a key above the last one")
        self.spend(len(fetch.key) + _VALUE_BYTES)
        if not fetch.of_one:
            self.spend(sum(map(fetch.size_of, rows)))

    def spend(self, answer_bytes: int) -> None:
        """Count bytes of the answer; 400 where it becomes too large."""
        self.answer_bytes -= answer_bytes
        if self.answer_bytes < 0:
            refuse(f"asks for an answer of more than {MAX_ANSWER_BYTES} bytes; ask for fewer rows or fields")


def plan(request: GraphQLRequest) -> tuple[Fetch, ...]:
    """The operation's reads of the index; 400 where an argument is out of its range."""
    return _fetches(request, [request.operation.selection_set], None)


def wanted_block(request: GraphQLRequest) -> int:
    """The latest block that the index has to have reached by an argument of the query; 0 where none names one."""
    root = _fields(request, [request.operation.selection_set])
    return max((_block_of(request, nodes[0]) for nodes in root.values()), default=0)


def _block_of(request: GraphQLRequest, node: FieldNode) -> int:
    fields = query_fields()
    if node.name.value not in fields or "block" not in fields[node.name.value].args:
        return 0  # of the introspection
    try:
        given = get_argument_values(fields[node.name.value], node, request.values)
    except GraphQLError as error:
        refuse(error.message)
    return int((given.get("block") or {}).get("number_gte", 0))


def load(connection: Connection, fetches: tuple[Fetch, ...], allowance: RequestLimits | None = None) -> Row:
    """The root value: each fetch's rows under its key, each row with its children likewise.

    Raises ``TookTooLong``.
    """
    connection.execute(text(f"SET LOCAL statement_timeout = {int(STATEMENT_SECONDS * 1000)}"))
    root: Row = {}
    allowance = allowance or RequestLimits()

    def require_time(*_: object) -> None:
        allowance.require_time()

    event.listen(connection, "before_cursor_execute", require_time)
    try:
        for fetch in fetches:
            root[rows_key(fetch.key)] = _load(connection, fetch, None, allowance)
    except DBAPIError as error:
        if isinstance(error.orig, psycopg.errors.QueryCanceled):
            raise TookTooLong from None
        raise
    finally:
        event.remove(connection, "before_cursor_execute", require_time)
    return root


def _load(connection: Connection, fetch: Fetch, parents: list[object] | None, allowance: RequestLimits) -> list[Row]:
    statement = fetch.statement(parents, allowance.rows + 1)
    rows: list[Row] = [dict(row) for row in connection.execute(statement).mappings()]
    allowance.take(fetch, rows)
    for child in fetch.children:
        column = cast("str", child.parent_column)
        for row in rows:
            row[rows_key(child.key)] = []
        by_parent: dict[object, list[list[Row]]] = {}
        for row in rows:
            by_parent.setdefault(row[column], []).append(row[rows_key(child.key)])
        for found in _load(connection, child, list(by_parent), allowance) if rows else ():
            places = by_parent[found[column]]
            if child.of_one:
                allowance.spend(len(places) * child.size_of(found))
            for place in places:
                place.append(found)
        allowance.answer_bytes -= len(rows) * (len(child.key) + 6)
    return rows


def _fetches(request: GraphQLRequest, selections: list[SelectionSetNode], parent: Entity | None) -> tuple[Fetch, ...]:
    """The lists and single entities below some selections, which are all of one field."""
    found = []
    for key, nodes in _fields(request, selections).items():
        name = nodes[0].name.value
        entity, parent_column = _target(name, parent)
        if entity is not None:
            found.append(_fetch(request, key, nodes, entity, parent_column))
    return tuple(found)


def _target(name: str, parent: Entity | None) -> tuple[Entity | None, str | None]:
    """Which entity a field shows, and the column it shares with its parent; None for a plain value."""
    if parent is not None:
        if parent.parent is not None and name == parent.parent[0]:
            return ENTITIES[parent.parent[1]], parent.parent[2]
        child, column = parent.children.get(name, (None, None))
        return (None, None) if child is None else (ENTITIES[child], column)
    return next(
        (entity for entity in ENTITIES.values() if name in {entity.plural, single_field_name(entity)}), None
    ), None


def _fetch(
    request: GraphQLRequest, key: str, nodes: list[FieldNode], entity: Entity, parent_column: str | None
) -> Fetch:
    name = nodes[0].name.value
    selections = [node.selection_set for node in nodes if node.selection_set is not None]
    fields = _fields(request, selections)
    of_one = parent_column is not None and name == single_field_name(entity)
    arguments = _ONE_OF_EACH if of_one else _arguments(request, nodes[0], entity, name)
    children = _fetches(request, selections, entity)
    if of_one and children:  # each of a thousand rows could repeat a thousand others
        refuse(f"asks for lists below the {name} of a row; ask for them by bounty_id")
    plain = {node[0].name.value for node in fields.values()} & {"id", *entity.fields}
    shared = {column for child in children if (column := child.parent_column) is not None}
    columns = plain | shared | {"id"} | ({parent_column} if parent_column is not None else set())
    return Fetch(
        entity=entity,
        key=key,
        parent_column=parent_column,
        columns=tuple(sorted(columns)),
        row_bytes=sum(len(name) + _VALUE_BYTES for name in fields),
        texts=tuple(Counter(node[0].name.value for node in fields.values() if node[0].name.value in _TEXTS).items()),
        children=children,
        of_one=of_one,
        **arguments,
    )


def _arguments(request: GraphQLRequest, node: FieldNode, entity: Entity, name: str) -> dict[str, Any]:
    c = entity.rows.c
    single = name == single_field_name(entity)
    try:
        given = get_argument_values(list_field_of(entity, name), node, request.values)
    except GraphQLError as error:
        refuse(error.message)
    if single:
        return {"conditions": (_identified(entity, [given["id"]]),), "order": (c.id,), "first": 1, "skip": 0}
    first, skip = given.get("first"), given.get("skip")
    first, skip = DEFAULT_FIRST if first is None else first, 0 if skip is None else skip
    if not 1 <= first <= MAX_FIRST or not 0 <= skip <= MAX_SKIP:
        refuse(f"first is 1 to {MAX_FIRST}, skip 0 to {MAX_SKIP}")
    order_by = given.get("orderBy") or next(iter(entity.fields))
    order: ColumnElement[Any] = c[_ORDERED_AS.get(order_by, order_by)]
    where = given.get("where") or {}
    if where.get("status") == "open" and isinstance(order.type, Integer):
        order = by_sorting(order)
    ordered = order.desc() if given.get("orderDirection") == "desc" else order.asc()
    conditions = tuple(_condition(entity, key, value) for key, value in where.items())
    return {"conditions": conditions, "order": (ordered, c.id), "first": first, "skip": skip}


def _condition(entity: Entity, key: str, value: object) -> ColumnElement[bool]:
    name, operator = _split(entity, key)
    column: Any = entity.rows.c[name]
    if value is None:
        if operator not in {"", "_not"}:
            refuse(f"{key} must not be null")
        is_null: ColumnElement[bool] = column.is_(None) if operator == "" else column.is_not(None)
        return is_null
    if isinstance(value, list) and len(value) > MAX_IN:
        refuse(f"{key} has more than {MAX_IN} values")
    if operator in {"", "_in"} and name == "id":
        return _identified(entity, value if isinstance(value, list) else [value])
    if operator == "" and (known := entity.conditions.get((name, str(value)))) is not None:
        return known
    given = [_value(name, each) for each in value] if isinstance(value, list) else _value(name, value)
    if entity.fields.get(name) == AMOUNT:
        column = sql_cast(column, Numeric(78, 0))
    elif name == "bounty_id" or entity.fields.get(name) == NUMBER:
        column = sql_cast(column, BigInteger)  # as wide as the type in the schema, not as the column
    return operators_of(entity.fields.get(name, TEXT))[operator](column, given)


def _identified(entity: Entity, ids: list[object]) -> ColumnElement[bool]:
    """Whether a row has one of these ids: by the columns that an id is made of, which the indexes know."""
    columns = [entity.rows.c[name] for name in entity.key]
    found = [parts for each in ids if (parts := _parts(columns, _text(each))) is not None]
    return tuple_(*columns).in_(found) if found else false()


def _parts(columns: Sequence[ColumnElement[Any]], given: str) -> tuple[object, ...] | None:
    """The value of each column of an id; None where no row can have it."""
    parts = given.split("-")
    if len(parts) != len(columns):
        return None
    values: list[object] = []
    for column, part in zip(columns, parts, strict=True):
        if not isinstance(column.type, Integer):
            values.append(part)
        elif _NUMBER.fullmatch(part) and int(part) <= _MAX_BIGINT:
            values.append(int(part))
        else:
            return None
    return tuple(values)


def _value(name: str, value: object) -> object:
    """A value as the database compares it; 400 for one that it cannot hold."""
    if name == "bounty_id":
        try:
            number = parse_bounty_id(_text(value))
        except ValueError:
            number = None
        if number is None or number > _MAX_BIGINT:
            refuse(f"bounty_id is a decimal from 1 to {_MAX_BIGINT}")
        return number
    return value if isinstance(value, int | Decimal) else _text(value)


def _text(value: object) -> str:
    """A string that PostgreSQL can compare: it holds no NUL and no half of a surrogate pair."""
    written = str(value)
    if "\0" in written or any("\ud800" <= character <= "\udfff" for character in written):
        refuse("a string holds a character that no value of the index has")
    return written


def _split(entity: Entity, key: str) -> tuple[str, str]:
    """``escrow_amount_gte`` as the field and the operator."""
    for operator in sorted({**OPERATORS, **OF_LISTS}, key=len, reverse=True):
        name = key.removesuffix(operator) if operator else key
        if key.endswith(operator) and (name in entity.fields or name == "id"):
            return name, operator
    raise KeyError(key)


def _fields(request: GraphQLRequest, selections: list[SelectionSetNode]) -> dict[str, list[FieldNode]]:
    """The fields of some selections by their key in the answer, fragments written out and directives applied."""
    found: dict[str, list[FieldNode]] = {}
    for selected in selections:
        for node in selected.selections:
            if not _included(request, node):
                continue
            if isinstance(node, FieldNode):
                found.setdefault((node.alias or node.name).value, []).append(node)
                continue
            below = (
                request.fragments[node.name.value].selection_set
                if isinstance(node, FragmentSpreadNode)
                else cast("InlineFragmentNode", node).selection_set
            )
            for key, nodes in _fields(request, [below]).items():
                found.setdefault(key, []).extend(nodes)
    return found


def _included(request: GraphQLRequest, node: Any) -> bool:
    try:
        skip = get_directive_values(GraphQLSkipDirective, node, request.values)
        include = get_directive_values(GraphQLIncludeDirective, node, request.values)
    except GraphQLError as error:
        refuse(error.message)
    return not (skip and skip["if"]) and not (include and not include["if"])
