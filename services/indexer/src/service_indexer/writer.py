"""Writes one chain's copy in the database, a change at a time.

Each change is one transaction that locks the copy's head and finds it at the version on which the change rests, so that
two writers never mix. Rows are projected from logs and never updated: a reorg deletes those from a block on.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.events import Log
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, ChainId, UnixSeconds
from psycopg import Connection as PsycopgConnection
from psycopg import sql
from service_common.db import hub_index as t
from service_common.db.engine import reading, writing
from service_common.db.hub_reads import HEAD_COLUMNS, Head, head_of_row
from sqlalchemy import ARRAY, Connection, Engine, Table, delete, exists, func, select, true, update
from sqlalchemy.dialects.postgresql import insert

from service_indexer.changes import keep_up, note_retraction
from service_indexer.projection import project


class AnotherWriter(Exception):
    """Another process has written the copy since it was read."""


class NoCopy(ValueError):
    """The database has no copy of this Hub."""


class BlockId(NamedTuple):
    """A block by number and hash."""

    number: BlockNumber
    hash: Bytes32


@dataclass(frozen=True, slots=True)
class Position:
    """Where the copy is. ``newest_fact``: the block of the newest unfinal log; ``version``: new after each change."""

    head: Head
    finalized_hash: Bytes32
    newest_fact: BlockId | None
    version: datetime


@dataclass(slots=True)
class CopyChange:
    """One move of the copy: delete what is of ``retract_from`` and later, then add these logs."""

    newest: Header | None = None
    """The block that the copy is at from now on; None if it stays."""
    finalized: Header | None = None
    tip: int = 0
    """The newest block that the chain showed, where that is above the copy."""
    retract_from: BlockNumber | None = None
    logs: Sequence[Log] = ()
    times: Mapping[BlockNumber, UnixSeconds] = field(default_factory=dict)


class Writer:
    """Writes the copy of one Hub in one schema of the database."""

    def __init__(self, engine: Engine, chain_id: ChainId, hub: Address, schema: str = t.SCHEMA) -> None:
        self._engine = engine.execution_options(schema_translate_map={t.SCHEMA: schema})
        self._chain_id, self._hub = chain_id, hub

    def position(self) -> Position | None:
        """Return the position of the copy, None if there is none; raises ``NoCopy`` if it belongs to another Hub."""
        h, c = t.head.c, t.logs.c
        newest = (
            select(c.block_number.label("fact_number"), c.block_hash.label("fact_hash"))
            .where(c.block_number > h.finalized_number)
            .order_by(c.block_number.desc(), c.log_index.desc())
            .limit(1)
            .lateral("newest_fact")
        )
        found = select(*HEAD_COLUMNS, newest).outerjoin(newest, true()).where(h.chain_id == self._chain_id)
        with reading(self._engine) as connection:
            row = connection.execute(found).mappings().first()
        if row is None:
            return None
        if row["hub_address"] != self._hub:
            raise NoCopy("the copy in this database belongs to another Hub")
        fact = None if row["fact_number"] is None else BlockId(row["fact_number"], row["fact_hash"])
        return Position(head_of_row(row), row["finalized_hash"], fact, row["updated_at"])

    def begin(self, start: Header) -> None:
        """Write where the copy starts, at a block before the Hub; do nothing if there is a copy."""
        row = {
            "chain_id": self._chain_id,
            "hub_address": self._hub,
            "block_number": start.number,
            "block_hash": start.hash,
            "block_time": start.time,
            "finalized_number": start.number,
            "finalized_hash": start.hash,
            "finalized_time": start.time,
            "tip_number": start.number,
        }
        with writing(self._engine) as connection:
            connection.execute(insert(t.head).values(row).on_conflict_do_nothing())

    def logs(self, first: BlockNumber, until: BlockNumber | None) -> list[Log]:
        """Return the copied logs of a range in the order of the chain, to the copy's end without ``until``."""
        c = t.logs.c
        rows = select(c.block_number, c.block_hash, c.log_index, c.tx_hash, c.topics, c.data)
        rows = rows.where(c.block_number >= first).order_by(c.block_number, c.log_index)
        if until is not None:
            rows = rows.where(c.block_number <= until)
        with reading(self._engine) as connection:
            return [
                Log(
                    address=self._hub,
                    block_number=number,
                    block_hash=block_hash,
                    log_index=index,
                    tx_hash=tx_hash,
                    topics=tuple(topics),
                    data=bytes(data),
                )
                for number, block_hash, index, tx_hash, topics, data in connection.execute(rows)
            ]

    def open_pages(self) -> tuple[dict[BountyId, Bytes32], int]:
        """Return the page commitment of each open bounty, and how many bounties there are: the Hub numbers them from
        1 on. Raises ``ValueError`` if a number in between is missing."""
        b, ended = t.bounties.c, t.finalizations.c
        is_open = ~exists().where(ended.bounty_id == b.bounty_id)
        with reading(self._engine) as connection:
            pages = connection.execute(select(b.bounty_id, b.spec_commitment).where(is_open))
            counted = select(func.count(), func.max(b.bounty_id)).select_from(t.bounties)
            count, newest = connection.execute(counted).one()
            if count != (newest or 0):
                raise ValueError(f"{count} bounties are copied, and the newest is number {newest}")
            return {row.bounty_id: row.spec_commitment for row in pages}, count

    def apply(self, position: Position, change: CopyChange) -> datetime:
        """Make a change in one transaction; return the new version. Raises ``AnotherWriter``."""
        with writing(self._engine) as connection:
            kept = select(t.head.c.updated_at).where(t.head.c.chain_id == self._chain_id)
            if connection.execute(kept.with_for_update()).scalar() != position.version:
                raise AnotherWriter
            if change.retract_from is not None:
                for table in t.FACTS:
                    connection.execute(delete(table).where(table.c.block_number >= change.retract_from))
                note_retraction(connection, BlockNumber(change.retract_from - 1))
            rows: dict[Table, list[dict[str, object]]] = defaultdict(list)
            for log in change.logs:
                for table, row in project(log, change.times[log.block_number]):
                    rows[table].append(row)
            for table, values in rows.items():
                _copy_rows(connection, table, values)
            if rows or change.retract_from is not None:
                keep_up(connection)
            return self._move_head(connection, position.head, change)

    def halt(self, version: datetime | None, reason: str) -> None:
        """Record why the copy of this version halted; readers answer 503 until an operator acts."""
        h = t.head.c
        with writing(self._engine) as connection:
            ours = (h.chain_id == self._chain_id) & (h.updated_at == version)
            connection.execute(update(t.head).where(ours).values(halted=reason))

    def _move_head(self, connection: Connection, head: Head, change: CopyChange) -> datetime:
        newest = change.newest.number if change.newest is not None else head.block_number
        values: dict[str, object] = {"tip_number": max(newest, change.tip), "updated_at": func.clock_timestamp()}
        if change.newest is not None:
            at = change.newest
            values |= {"block_number": at.number, "block_hash": at.hash, "block_time": at.time}
        if change.finalized is not None:
            final = change.finalized
            values |= {"finalized_number": final.number, "finalized_hash": final.hash, "finalized_time": final.time}
        if change.retract_from is not None:
            depth = head.block_number - change.retract_from + 1
            values["reorg_count"] = t.head.c.reorg_count + 1
            values["deepest_reorg"] = func.greatest(t.head.c.deepest_reorg, depth)
        moved = update(t.head).where(t.head.c.chain_id == self._chain_id).values(values)
        version: datetime = connection.execute(moved.returning(t.head.c.updated_at)).scalar_one()
        return version


def _copy_rows(connection: Connection, table: Table, rows: Sequence[dict[str, object]]) -> None:
    """Insert rows with every column of the table, by COPY: several times as fast as INSERT."""
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
    """Return a list of texts as PostgreSQL writes an array: the driver is slower at that."""
    if not isinstance(texts, list):
        raise TypeError("not a list of texts")
    escaped = (str(each).replace("\\", "\\\\").replace('"', '\\"') for each in texts)
    return "{" + ",".join(f'"{each}"' for each in escaped) + "}"
