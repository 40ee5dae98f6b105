"""The rows that answer a valid request: one statement for each list that the query names.

The first row of a list that is asked for what is below it has it read for all rows beside it, so that the number of
statements depends on the query alone. Rows and the bytes of the answer are counted as they come, and what exceeds them
ends the request.
"""

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, cast

import psycopg
from bounty_protocol.chain.deployment import caip_10
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import parse_bounty_id
from graphql import (
    FieldNode,
    FragmentSpreadNode,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLObjectType,
    GraphQLResolveInfo,
    InlineFragmentNode,
    get_named_type,
    get_nullable_type,
)
from service_common.db.hub_reads import Head, by_sorting
from service_common.places import Places
from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Numeric,
    Select,
    false,
    func,
    select,
    text,
    true,
    tuple_,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.exc import DBAPIError

from service_api.subgraph.entities import ENTITIES, Entity
from service_api.subgraph.request import refuse
from service_api.subgraph.schema import OPERATORS, make_schema

MAX_ROWS: Final = 5_000
MAX_ANSWER_BYTES: Final = 2 * 1024 * 1024
MAX_FIRST: Final = 1_000
MAX_SKIP: Final = 5_000
MAX_IN: Final = 500
MAX_WIDE: Final = 2
"""Lists of a query for which the database may read a whole table."""
WIDE_AT_A_TIME: Final = 2
"""Such lists that a process reads at a time: fewer than it runs queries, so that they keep no others out."""
MAX_RANGE: Final = 1_000
"""Bounties between two bounds of their numbers that count as few."""
DEFAULT_FIRST: Final = 100
STATEMENT_SECONDS: Final = 2.0
TOTAL_SECONDS: Final = 4.0
_VALUE_BYTES: Final = 80
"""The bytes of a value and its punctuation in the answer: hashes are 66 characters."""
_MAX_BIGINT: Final = 2**63 - 1
_ORDERED_AS: Final = {"time": "block_number", "settled_at": "settled_block"}
"""A block is later than its parent, so both orders are the same, and only one has indexes."""
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
_WIDE_PRICE: Final = 20
_ROWS_OF_ONE: Final = 1_000
_BYTES_OF_ONE: Final = 200_000
_LISTS_OF_ONE: Final = 4
"""A query costs one, one more for each ``__schema`` and ``__type``, for so many lists, rows that it reads and skips,
and bytes of its answer, and more for a list for which the database may read a whole table: about 20 ms each."""
_TEXTS: Final = {"title", "summary", "withheld_reason"}
"""Columns that hold what a person wrote, of up to 8,000 bytes; all others are short."""
_BY_LENGTH: Final = sorted(OPERATORS, key=len, reverse=True)
_lane = Places()


class Row(dict[str, Any]):
    """A row of the answer, which knows its list."""

    __slots__ = ("of",)
    of: "RowList"


@dataclass(slots=True)
class RowList:
    """Rows that one statement read, and what was read below them: by the field's key, then by the column they share."""

    rows: list[Row]
    below: dict[str | int, dict[object, list[Row]]] = field(default_factory=dict)


@dataclass(slots=True)
class Price:
    """What a query costs its network's budget: by its shape and its answer, never by the time that it takes.

    ``is_waived`` says that no place was free for it: whoever waits pays once.
    """

    lists: int = 0
    introspections: int = 0
    wide: int = 0
    rows: int = 0
    answer_bytes: int = 0
    is_waived: bool = False

    @property
    def units(self) -> int:
        """What the query is charged."""
        asked = self.lists // _LISTS_OF_ONE + self.introspections
        read = self.wide * _WIDE_PRICE + self.rows // _ROWS_OF_ONE + self.answer_bytes // _BYTES_OF_ONE
        return 0 if self.is_waived else 1 + asked + read


@dataclass(slots=True)
class Reads:
    """The reads of one request, in one moment of the index, what is left of its limits, and what they cost."""

    connection: Connection
    head: Head
    price: Price = field(default_factory=Price)
    skips: int = MAX_SKIP
    rows: int = MAX_ROWS
    answer_bytes: int = MAX_ANSWER_BYTES
    ends: float = field(default_factory=lambda: time.monotonic() + TOTAL_SECONDS)

    def load(self, statement: Select[Any], *, wide: bool = False) -> list[Row]:
        """Read rows; 400 if all lists together have too many, 503 if the database takes too long.

        ``wide`` says that the database may read a whole table for them: of such lists a query has few, and a process
        reads few at a time.
        """
        if time.monotonic() > self.ends:
            raise overloaded("The query took too long.")
        if wide and self.price.wide == MAX_WIDE:
            refuse(f"has more than {MAX_WIDE} lists without a selective filter; ask for the others by bounty_id")
        with ExitStack() as places:
            if wide:
                self._enter_lane(places)
            try:
                self.connection.execute(text(f"SET LOCAL statement_timeout = {int(STATEMENT_SECONDS * 1000)}"))
                rows = [Row(row) for row in self.connection.execute(statement).mappings()]
            except DBAPIError as error:
                if isinstance(error.orig, psycopg.errors.QueryCanceled):
                    raise overloaded("The query took too long.") from None
                raise
        self.rows -= len(rows) + 1
        self.price.rows += len(rows)
        if self.rows < 0:
            refuse(f"asks for more than {MAX_ROWS} rows; ask for fewer, and for the next by a key above the last one")
        of = RowList(rows)
        for row in rows:
            row.of = of
        return rows

    def _enter_lane(self, places: ExitStack) -> None:
        """Take one of the places for lists that read whole tables; 503 if none is free."""
        try:
            places.enter_context(_lane.hold("wide", WIDE_AT_A_TIME))
        except ServiceError:
            self.price.is_waived = True
            raise
        self.price.wide += 1

    def skip(self, rows: int) -> None:
        """Count rows to be skipped; 400 if all lists together skip too many."""
        self.skips -= rows
        self.price.rows += rows
        if self.skips < 0:
            refuse(f"skips more than {MAX_SKIP} rows in all; ask for the next rows by a key above the last one")

    def spend(self, rows: Sequence[Row], fields: Mapping[str, str]) -> None:
        """Count the bytes of rows each time they appear in the answer; 400 if it becomes too large."""
        plain = _VALUE_BYTES + sum(len(key) + _VALUE_BYTES for key in fields)
        texts = [name for name in fields.values() if name in _TEXTS]
        size = _VALUE_BYTES + len(rows) * plain
        for name in texts:
            size += sum(len(row[name].encode()) for row in rows if row[name] is not None)
        self.answer_bytes -= size
        self.price.answer_bytes += size
        if self.answer_bytes < 0:
            refuse(f"asks for an answer of more than {MAX_ANSWER_BYTES} bytes; ask for fewer rows or fields")


def overloaded(what: str) -> ServiceError:
    """Return the error for a query that needs more resources than are free."""
    return ServiceError("service_overloaded", f"{what} Ask for less, or try again later.", retry_after=2)


def resolve(source: Any, info: GraphQLResolveInfo[Reads], **arguments: Any) -> object:
    """Return the value of a field: a column of its row, or the rows that it names."""
    if source is not None and info.field_name in source:
        return source[info.field_name]
    reads, wanted = info.context, (arguments.get("block") or {}).get("number_gte", 0)
    if wanted > reads.head.block_number:
        message = f"The index has reached only block {reads.head.block_number}; the query asks for {wanted}."
        raise ServiceError("bounty_projection_unavailable", f"{message} Try again soon.", retry_after=2)
    kind = get_named_type(info.return_type).name
    if kind == "_Meta_":
        return _meta(reads.head)
    is_list = isinstance(get_nullable_type(info.return_type), GraphQLList)
    rows = _below(info, kind, source, arguments, is_list=is_list) if source else _whole(info, kind, arguments)
    return rows if is_list else next(iter(rows), None)


def _meta(head: Head) -> dict[str, object]:
    return {
        "block": {"hash": head.block_hash, "number": head.block_number, "timestamp": head.block_time},
        "finalized_block_number": head.finalized_number,
        "deployment": caip_10(head.chain_id, head.hub_address),
        "hasIndexingErrors": head.halted is not None,
    }


def _whole(info: GraphQLResolveInfo[Reads], kind: str, arguments: dict[str, Any]) -> list[Row]:
    """Return the rows of a top-level field of a query."""
    entity, fields = ENTITIES[kind], _fields(info)
    order: list[ColumnElement[Any]]
    if "id" in arguments:
        first, skip, conditions, order = 1, 0, [_identified(entity, [arguments["id"]])], [entity.rows.c.id]
    else:
        first, skip, conditions, order = _page(kind, arguments)
    info.context.skip(skip)
    wide = "id" not in arguments and _is_wide(kind, arguments)
    found = select(*_columns(entity, fields)).where(*conditions).order_by(*order).offset(skip)
    rows = info.context.load(found.limit(min(first, info.context.rows + 1)), wide=wide)
    info.context.spend(rows, fields)
    return rows


def _below(
    info: GraphQLResolveInfo[Reads], kind: str, source: Row, arguments: dict[str, Any], *, is_list: bool
) -> list[Row]:
    """Return the rows of a field of a row, read once for all rows of its list."""
    entity, key, of = ENTITIES[kind], info.path.key, source.of
    shared = entity.shared
    if key not in of.below:
        fields, parents = _fields(info), {row[shared] for row in of.rows}
        c, columns = entity.rows.c, _columns(entity, fields)
        if is_list:
            # A page for each parent, so that one with rows of a million accounts below it costs no more than its page.
            first, skip, conditions, order = _page(kind, arguments)
            info.context.skip(skip * len(parents))
            keys = func.unnest(sql_cast(list(parents), ARRAY(BigInteger))).label("key")
            above = select(keys).order_by(keys).subquery("above")
            place = func.row_number().over(order_by=order).label("place")
            theirs = select(*columns, place).where(c[shared] == above.c.key, *conditions).order_by(*order)
            page = theirs.offset(skip).limit(first).lateral("page")
            found = select(page).select_from(above.join(page, true())).order_by(above.c.key, page.c.place)
        else:
            found = select(*columns).where(c[shared].in_(parents))
        made: dict[object, list[Row]] = {}
        for row in info.context.load(found.limit(info.context.rows + 1)):
            made.setdefault(row[shared], []).append(row)
        for row in of.rows:
            info.context.spend(made.get(row[shared], []), fields)
        of.below[key] = made
    return of.below[key].get(source[shared], [])


def _columns(entity: Entity, fields: Mapping[str, str]) -> list[ColumnElement[Any]]:
    names = {"id", entity.shared, *fields.values()}
    return [column for column in entity.rows.c if column.name in names]


def _fields(info: GraphQLResolveInfo[Reads]) -> dict[str, str]:
    """Return the fields of each row by their keys in the answer; ignore directives."""
    found: dict[str, str] = {}
    waiting = [node.selection_set for node in info.field_nodes]
    while waiting:
        selected = waiting.pop()
        for node in selected.selections if selected else ():
            if isinstance(node, FieldNode):
                found[(node.alias or node.name).value] = node.name.value
            elif isinstance(node, FragmentSpreadNode):
                waiting.append(info.fragments[node.name.value].selection_set)
            elif isinstance(node, InlineFragmentNode):
                waiting.append(node.selection_set)
    return found


def _page(kind: str, given: dict[str, Any]) -> tuple[int, int, list[ColumnElement[bool]], list[ColumnElement[Any]]]:
    """Return how many rows of a list to show, how many to skip, their conditions and their order."""
    entity = ENTITIES[kind]
    first, skip = given.get("first"), given.get("skip")
    first, skip = DEFAULT_FIRST if first is None else first, 0 if skip is None else skip
    if not 1 <= first <= MAX_FIRST or not 0 <= skip <= MAX_SKIP:
        refuse(f"first is 1 to {MAX_FIRST}, skip 0 to {MAX_SKIP}")
    order_by = _order_by(kind, given)
    order: ColumnElement[Any] = entity.rows.c[_ORDERED_AS.get(order_by, order_by)]
    where = given.get("where") or {}
    if where.get("status") == "open" and isinstance(order.type, Integer):
        order = by_sorting(order)
    ordered = order.desc() if given.get("orderDirection") == "desc" else order.asc()
    conditions = [_condition(kind, key, value) for key, value in where.items()]
    # Rows alike are ordered by the columns of their id, which have indexes.
    return first, skip, conditions, [ordered, *(entity.rows.c[name] for name in entity.key)]


def _order_by(kind: str, given: dict[str, Any]) -> str:
    _, default, *_ = cast("GraphQLObjectType", make_schema().type_map[kind]).fields
    return str(given.get("orderBy") or default)


def _is_wide(kind: str, given: dict[str, Any]) -> bool:
    """Return whether the database may read a whole table for a list: an index gives its order, and leaves out too much
    or too little. 400 if it would have to sort the table.

    1. A list of few rows in all, or with a filter that leaves few, is not wide, whatever its order.
    2. Any other has to be in an order that an index gives.
    3. It is wide if it has a filter that is not on that order, or whose rows are rare.
    """
    entity, where, order_by = ENTITIES[kind], given.get("where") or {}, _order_by(kind, given)
    is_few = any(where.get(name + operator) is not None for name in entity.narrow for operator in ("", "_in"))
    if not entity.orders or is_few or where.get("status") == "open" or _is_short_range(where):
        return False
    orders = entity.orders | ({"settled_at"} if where.get("status") == "final" else frozenset())
    if order_by not in orders:
        named = " or ".join(sorted(entity.narrow | entity.histories))
        refuse(f"orders all {entity.plural} by {order_by}; filter by {named}, or order by {', '.join(sorted(orders))}")
    indexed = _ORDERED_AS.get(order_by, order_by)
    return entity.is_sparse or not all(
        (key, str(value)) in entity.conditions or key in entity.histories or _filtered(entity, key) == indexed
        for key, value in where.items()
    )


def _is_short_range(where: Mapping[str, Any]) -> bool:
    """Return whether two filters leave few bounties."""
    lower, upper = (
        [where[f"bounty_id_{each}"] for each in operators if isinstance(where.get(f"bounty_id_{each}"), str)]
        for operators in (("gt", "gte"), ("lt", "lte"))
    )
    numbers = [int(each) for each in (*lower, *upper) if _NUMBER.fullmatch(each)]
    return bool(lower and upper) and len(numbers) == 2 and numbers[1] - numbers[0] <= MAX_RANGE


def _filtered(entity: Entity, key: str) -> str:
    """Return the column of a filter."""
    operator = next(each for each in _BY_LENGTH if key.endswith(each) and key.removesuffix(each) in entity.rows.c)
    return key.removesuffix(operator)


def _condition(kind: str, key: str, value: object) -> ColumnElement[bool]:
    entity = ENTITIES[kind]
    name = _filtered(entity, key)
    operator = key.removeprefix(name)
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
    filters = cast("GraphQLInputObjectType", make_schema().type_map[f"{kind}_filter"]).fields
    of = get_named_type(filters[key].type).name
    if of == "BigInt":
        column = sql_cast(column, Numeric(78, 0))
    elif of == "Integer" or name == "bounty_id":
        column = sql_cast(column, BigInteger)  # as wide as the schema's type, not the column's
    return OPERATORS[operator](column, given)


def _identified(entity: Entity, ids: list[object]) -> ColumnElement[bool]:
    """Return whether a row has one of these ids, by the indexed columns from which an id is made."""
    columns = [entity.rows.c[name] for name in entity.key]
    found = [parts for each in ids if (parts := _parts(columns, _text(each))) is not None]
    return tuple_(*columns).in_(found) if found else false()


def _parts(columns: Sequence[ColumnElement[Any]], given: str) -> tuple[object, ...] | None:
    """Return the value of each column of an id; None if no row can have it."""
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
    """Return a value in the database's form; 400 for one that it cannot hold."""
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
    """Return a string that PostgreSQL can compare: it holds no NUL and no half of a surrogate pair."""
    written = str(value)
    if "\0" in written or any("\ud800" <= character <= "\udfff" for character in written):
        refuse("a string holds a character that no value of the index can have")
    return written
