"""The one ordered writer of ``hub_index``.

There is one writer per chain (a PostgreSQL advisory lock) and a fencing token is checked in every transaction, so that
a writer that lost its lock without noticing writes nothing. A step of the chain, reorg included, is one transaction.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from psycopg import Connection as PsycopgConnection
from psycopg import sql
from service_common.chain.blocks import Header
from service_common.chain.events import Log
from service_common.db import hub_index as t
from service_common.db.engine import reading, writing
from service_common.db.hub_reads import Head, read_head
from service_common.db.locks import release_chain_lock, try_chain_lock
from service_common.types import Address, BlockNumber, Bytes32, ChainId, UnixSeconds
from sqlalchemy import Connection, Engine, Table, delete, func, insert, select, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.exc import OperationalError

from service_indexer.derived import keep_up, note_retraction
from service_indexer.projection import project

COPY_SPACE: Final = 0x48_55_42
SCRATCH_SPACE: Final = 0x48_55_43


class FencedOut(Exception):
    """Another writer has taken over; this one must stop."""


class AnotherWriter(Exception):
    """The chain's lock is held by another process."""


@dataclass(frozen=True, slots=True)
class Step:
    """One move of the copy: after a reorg retract everything above ``ancestor``, then add these blocks and logs."""

    ancestor: BlockNumber
    headers: Sequence[Header]
    logs: Sequence[Log]
    latest: Header
    finalized: Header | None
    """The newest final block, or None for nothing new."""
    tip: BlockNumber
    """The newest block the chain showed, for how far behind the copy is."""
    retract: bool


class Writer:
    """Writes one chain's copy while it holds the chain's lock."""

    def __init__(self, engine: Engine, chain_id: ChainId, hub: Address, fence: int) -> None:
        self._engine, self._chain_id, self._hub, self._fence = engine, chain_id, hub, fence

    def head(self) -> Head | None:
        """How far the copy is."""
        with reading(self._engine) as connection:
            return read_head(connection, self._chain_id)

    def hashes(self, first: BlockNumber, last: BlockNumber) -> dict[BlockNumber, Bytes32]:
        """Hashes of the kept blocks of a range."""
        c = t.blocks.c
        with reading(self._engine) as connection:
            rows = connection.execute(select(c.number, c.hash).where(c.number.between(first, last)))
            return {BlockNumber(number): Bytes32(block_hash) for number, block_hash in rows}

    def apply(self, step: Step) -> None:
        """Move the copy to ``step.latest`` in one transaction."""
        with writing(self._engine) as connection:
            self._check_fence(connection)
            if step.retract:
                for table in t.FACTS:
                    connection.execute(delete(table).where(table.c.block_number > step.ancestor))
                note_retraction(connection, step.ancestor)
                connection.execute(delete(t.blocks).where(t.blocks.c.number > step.ancestor))
            self._insert(connection, step)
            # The header chain is kept from the finalized block on: nothing below it can be reorganized.
            self._set_head(connection, step)
            connection.execute(
                delete(t.blocks).where(t.blocks.c.number < select(t.head.c.finalized_number).scalar_subquery())
            )

    def halt(self, reason: str) -> None:
        """Record why the copy no longer moves; readers answer 503 until an operator acts."""
        with writing(self._engine) as connection:
            self._check_fence(connection)
            connection.execute(update(t.head).where(t.head.c.chain_id == self._chain_id).values(halted=reason))

    def _insert(self, connection: Connection, step: Step) -> None:
        if step.headers:
            connection.execute(insert(t.blocks), [_block_row(header) for header in step.headers])
        times = {header.number: header.time for header in step.headers}
        rows: dict[Table, list[dict[str, object]]] = defaultdict(list)
        for log in step.logs:
            for table, row in project(log, times[log.block_number]):
                rows[table].append(row)
        for table, values in rows.items():
            copy_rows(connection, table, values)
        if rows:
            keep_up(connection)

    def _set_head(self, connection: Connection, step: Step) -> None:
        values: dict[str, object] = {
            "hub_address": self._hub,
            "block_number": step.latest.number,
            "block_hash": step.latest.hash,
            "block_time": step.latest.time,
            "tip_number": step.tip,
            "updated_at": func.now(),
        }
        if step.retract:
            depth = t.head.c.block_number - step.ancestor
            values["reorg_count"] = t.head.c.reorg_count + 1
            values["deepest_reorg"] = func.greatest(t.head.c.deepest_reorg, depth)
        if step.finalized is not None:
            values["finalized_number"] = func.greatest(t.head.c.finalized_number, step.finalized.number)
            values["finalized_time"] = func.greatest(t.head.c.finalized_time, step.finalized.time)
        connection.execute(update(t.head).where(t.head.c.chain_id == self._chain_id).values(values))

    def _check_fence(self, connection: Connection) -> None:
        held = connection.execute(
            select(t.head.c.fence).where(t.head.c.chain_id == self._chain_id).with_for_update()
        ).scalar_one()
        if held != self._fence:
            raise FencedOut


@contextmanager
def only_writer(
    engine: Engine, chain_id: ChainId, hub: Address, start: Header, *, space: int = COPY_SPACE
) -> Iterator[Writer]:
    """Hold the chain's lock; raises ``AnotherWriter`` when it is taken. ``start``: the block before the Hub's first.

    ``space`` distinguishes the copy that is read from the scratch copy, which has a lock of its own.
    """
    with engine.connect() as lock:
        taken = try_chain_lock(lock, space, chain_id)
        lock.commit()
        if not taken:
            raise AnotherWriter
        try:
            with writing(engine) as connection:
                fence = _take_fence(connection, chain_id, hub, start)
            yield Writer(engine, chain_id, hub, fence)
            with suppress(OperationalError):  # the session has ended, and its lock with it
                release_chain_lock(lock, space, chain_id)
        finally:
            lock.invalidate()  # closing the session releases the lock, in any state


def _take_fence(connection: Connection, chain_id: ChainId, hub: Address, start: Header) -> int:
    """Raise the fencing token; the first writer of a chain also writes where the copy starts."""
    first = {
        "chain_id": chain_id,
        "hub_address": hub,
        "block_number": start.number,
        "block_hash": start.hash,
        "block_time": start.time,
        "finalized_number": start.number,
        "finalized_time": UnixSeconds(start.time),
        "fence": 1,
    }
    raised = (
        upsert(t.head)
        .values(first)
        .on_conflict_do_update(index_elements=[t.head.c.chain_id], set_={"fence": t.head.c.fence + 1})
    )
    fence = connection.execute(raised.returning(t.head.c.fence, t.head.c.hub_address)).one()
    if fence.fence == 1:
        connection.execute(insert(t.blocks), [_block_row(start)])
    keep_up(connection)  # with what a release before did not write
    if fence.hub_address != hub:
        raise ValueError("the copy in this database belongs to another Hub")
    return int(fence.fence)


def copy_rows(connection: Connection, table: Table, rows: Sequence[dict[str, object]]) -> None:
    """Insert rows that all have the table's every column, by COPY: several times as fast as INSERT."""
    columns = [(column.name, isinstance(column.type, ARRAY)) for column in table.c]
    translated = connection.get_execution_options().get("schema_translate_map") or {}
    target = sql.Identifier(str(translated.get(table.schema, table.schema)), table.name)
    names = sql.SQL(", ").join(sql.Identifier(name) for name, _ in columns)
    driver = connection.connection.driver_connection
    if not isinstance(driver, PsycopgConnection):
        raise TypeError("not a psycopg connection")
    with driver.cursor() as cursor, cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN").format(target, names)) as copy:
        for row in rows:
            copy.write_row([_array(row[name]) if is_array else row[name] for name, is_array in columns])


def _array(texts: object) -> str:
    """A list of texts as PostgreSQL writes an array: the driver takes longer for one than for all else of a log."""
    if not isinstance(texts, list):
        raise TypeError("not a list of texts")
    escaped = (str(each).replace("\\", "\\\\").replace('"', '\\"') for each in texts)
    return "{" + ",".join(f'"{each}"' for each in escaped) + "}"


def _block_row(header: Header) -> dict[str, object]:
    return {"number": header.number, "hash": header.hash, "parent_hash": header.parent_hash, "time": header.time}
