"""What follows from the facts of the copy and is kept beside them: what all bounties come to, and the feed of changes.

Both go on from their newest row, so that what a release before did not write is made up for by the next writer.
"""

from typing import Any, Final

from service_common.db import hub_index as t
from service_common.domain.lifecycle import Outcome
from service_common.types import BlockNumber
from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Numeric,
    Select,
    Table,
    cast,
    delete,
    func,
    insert,
    literal,
    select,
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
    """Add what the newest facts come to."""
    _count_on(connection)
    _number_logs(connection)


def note_retraction(connection: Connection, last_block: BlockNumber) -> None:
    """Every log above ``last_block`` is gone: who follows the changes is told, where there was one."""
    c = t.changes.c
    gone = connection.execute(delete(t.changes).where(c.block_number > last_block, c.log_index.is_not(None)))
    if gone.rowcount:
        connection.execute(insert(t.changes).values(block_number=last_block))


def _number_logs(connection: Connection) -> None:
    """Number the logs after the newest that has a number."""
    c, logs = t.changes.c, t.logs.c
    newest = connection.execute(
        select(c.block_number, c.log_index)
        .where(c.log_index.is_not(None))
        .order_by(c.block_number.desc(), c.log_index.desc())
        .limit(1)
    ).first()
    after = (-1, -1) if newest is None else (newest.block_number, newest.log_index)
    later = (logs.block_number >= after[0], tuple_(logs.block_number, logs.log_index) > after)
    places = select(logs.block_number, logs.log_index).where(*later).order_by(logs.block_number, logs.log_index)
    connection.execute(insert(t.changes).from_select(["block_number", "log_index"], places))


def _count_on(connection: Connection) -> None:
    """Add a row of totals for each event after the newest row's; what a reorg took out is gone from both already."""
    c = t.totals.c
    newest = connection.execute(select(t.totals).order_by(c.block_number.desc(), c.log_index.desc()).limit(1)).first()
    former = dict.fromkeys(_COUNTS, 0) if newest is None else {name: getattr(newest, name) for name in _COUNTS}
    after = (-1, -1) if newest is None else (newest.block_number, newest.log_index)
    events = union(*(_changes(table, after) for table in _COUNTED)).subquery("events")
    e = events.c
    order = (e.block_number, e.log_index)
    counted = [
        (func.sum(e[name]).over(order_by=order) + literal(former[name], c[name].type)).label(name) for name in _COUNTS
    ]
    names = [*_COUNTS, *_ORIGIN]
    connection.execute(insert(t.totals).from_select(names, select(*counted, *(e[name] for name in _ORIGIN))))


def _changes(table: Table, after: tuple[int, int]) -> Select[Any]:
    """What each row of a table adds to each count."""
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
    later = tuple_(c.block_number, c.log_index) > after
    return select(*(adds[name].label(name) for name in _COUNTS), *origin).where(c.block_number >= after[0], later)
