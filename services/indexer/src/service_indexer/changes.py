"""Values derived from the copy and kept beside it: the totals of all bounties, and the feed of changes.

Both go on from their newest row.
"""

from typing import Any, Final

from bounty_protocol.domain.lifecycle.states import Outcome
from bounty_protocol.types import BlockNumber
from service_common.db import hub_index as t
from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Numeric,
    Row,
    Select,
    Table,
    and_,
    cast,
    delete,
    func,
    insert,
    literal,
    select,
    true,
    tuple_,
)
from sqlalchemy import union_all as union

_COUNTED: Final = (t.bounties, t.finalizations, t.claims)
"""Whose rows change the totals."""
_PAID: Final = {
    "awards_paid": "winner_award",
    "refunds_paid": "poster_refund",
    "guardian_fees_paid": "guardian_fee",
    "protocol_fees_paid": "protocol_fee",
}
_ORIGIN: Final = ("block_number", "block_hash", "log_index", "tx_hash", "time")
_COUNTS: Final = tuple(column.name for column in t.totals.c if column.name not in _ORIGIN)


def keep_up(connection: Connection) -> None:
    """Add the totals of the newest facts."""
    _count_on(connection)
    _number_logs(connection)


def note_retraction(connection: Connection, last_block: BlockNumber) -> None:
    """Record that all logs above ``last_block`` were retracted, if there were any."""
    c = t.changes.c
    gone = connection.execute(delete(t.changes).where(c.block_number > last_block, c.log_index.is_not(None)))
    if gone.rowcount:
        connection.execute(insert(t.changes).values(block_number=last_block))


def _number_logs(connection: Connection) -> None:
    """Number the logs after the newest that has a number."""
    c, logs = t.changes.c, t.logs.c
    newest = _newest(connection, select(t.changes).where(c.log_index.is_not(None)), t.changes)
    later = _after(t.logs, newest)
    places = select(logs.block_number, logs.log_index).where(later).order_by(logs.block_number, logs.log_index)
    connection.execute(insert(t.changes).from_select(["block_number", "log_index"], places))


def _count_on(connection: Connection) -> None:
    """Add a row of totals for each event after the newest row's; what a reorg removed is already gone from both."""
    c = t.totals.c
    newest = _newest(connection, select(t.totals), t.totals)
    former = dict.fromkeys(_COUNTS, 0) if newest is None else {name: getattr(newest, name) for name in _COUNTS}
    events = union(*(_changes(table).where(_after(table, newest)) for table in _COUNTED)).subquery("events")
    e = events.c
    order = (e.block_number, e.log_index)
    counted = [
        (func.sum(e[name]).over(order_by=order) + literal(former[name], c[name].type)).label(name) for name in _COUNTS
    ]
    names = [*_COUNTS, *_ORIGIN]
    connection.execute(insert(t.totals).from_select(names, select(*counted, *(e[name] for name in _ORIGIN))))


def _changes(table: Table) -> Select[Any]:
    """Return the share of each row of a table in each count."""
    c = table.c
    adds: dict[str, ColumnElement[Any]] = {name: literal(0, Numeric) for name in _COUNTS}
    if table is t.bounties:
        adds |= {"bounties": literal(1, Numeric), "escrowed": c.escrow_amount}
    elif table is t.finalizations:
        adds |= {
            "awarded": cast(c.outcome == Outcome.AWARDED.number, Integer).cast(Numeric),
            "unawarded": cast(c.outcome != Outcome.AWARDED.number, Integer).cast(Numeric),
        }
    else:
        adds |= {name: cast(c.kind == kind, Integer) * c.amount for name, kind in _PAID.items()}
    origin = [c[name] for name in _ORIGIN]
    return select(*(adds[name].label(name) for name in _COUNTS), *origin)


def _newest(connection: Connection, rows: Select[Any], table: Table) -> Row[Any] | None:
    """Return the row that is last in the chain."""
    return connection.execute(rows.order_by(table.c.block_number.desc(), table.c.log_index.desc()).limit(1)).first()


def _after(table: Table, newest: Row[Any] | None) -> ColumnElement[bool]:
    """Return whether a row comes later in the chain; the first condition is the one that the block index can answer."""
    if newest is None:
        return true()
    c, place = table.c, (newest.block_number, newest.log_index)
    return and_(c.block_number >= place[0], tuple_(c.block_number, c.log_index) > place)
