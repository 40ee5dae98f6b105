"""The one ordered writer of ``hub_index``.

There is one writer per chain (a PostgreSQL advisory lock) and a fencing token is checked in every transaction, so that
a writer that lost its lock without noticing writes nothing. A step of the chain, reorg included, is one transaction.
"""

import secrets
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.events import Log
from bounty_protocol.types import Address, BlockNumber, Bytes32, ChainId, UnixSeconds
from psycopg import Connection as PsycopgConnection
from psycopg import sql
from service_common.db import hub_index as t
from service_common.db.engine import reading, single, translated, writing
from service_common.db.hub_reads import Head, head_of_row, read_head
from service_common.db.locks import release_chain_lock, try_chain_lock
from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    MetaData,
    Row,
    ScalarSelect,
    Table,
    and_,
    case,
    delete,
    func,
    insert,
    literal,
    select,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.exc import OperationalError
from sqlalchemy.sql.selectable import LateralFromClause

from service_indexer.derived import keep_up, note_retraction
from service_indexer.merkle import EMPTY_ROOT
from service_indexer.projection import project
from service_indexer.proving import FROM_THE_FIRST, StorageProof

COPY_SPACE: Final = 0x48_55_42
SCRATCH_SPACE: Final = 0x48_55_43


class FencedOut(Exception):
    """Another writer has taken over; this one must stop."""


class AnotherWriter(Exception):
    """The chain's lock is held by another process."""


class NoCopy(ValueError):
    """The database has no copy of this chain's Hub."""

    def __init__(self, why: str = "there is no copy of this chain in the database") -> None:
        super().__init__(why)


@dataclass(frozen=True, slots=True)
class CopyStep:
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
    checked: bool = False
    """Every log is of a receipt of its block."""
    proof: StorageProof | None = None
    """The Hub's storage root after ``latest``, where that is known."""


@dataclass(frozen=True, slots=True)
class ProvenHead:
    """A proof of the copy. ``quiet``: the copy has no log since its newest one."""

    proof: StorageProof
    quiet: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the copy stands, as one moment has it."""

    head: Head
    proven: ProvenHead | None
    """The newest proof up to the head, as ``Writer.known`` has it."""
    final_hash: Bytes32 | None
    """Of the block that the chain calls final, where the copy has it."""


class Writer:
    """Writes one chain's copy while it holds the chain's lock."""

    def __init__(self, engine: Engine, chain_id: ChainId, hub: Address, fence: int) -> None:
        self._engine, self._chain_id, self._hub, self._fence = engine, chain_id, hub, fence

    def head(self) -> Head | None:
        """How far the copy is."""
        with reading(self._engine) as connection:
            return read_head(connection, self._chain_id)

    def standing(self, final: BlockNumber) -> Standing | None:
        """What a step needs of the copy, by one query: one is taken for every block, and most find nothing new.

        ``final`` is the block that the chain calls final. Raises ``FencedOut``, so that a writer steps aside also where
        the chain stands still.
        """
        proven, h = _newest_proof(t.head.c.block_number), t.head.c
        final_hash = select(t.blocks.c.hash).where(t.blocks.c.number == final).scalar_subquery()
        found = select(t.head, proven, final_hash.label("final_hash")).outerjoin(proven, true())
        with single(self._engine) as connection:
            row = connection.execute(found.where(h.chain_id == self._chain_id)).first()
        if row is None:
            return None
        if row.fence != self._fence:
            raise FencedOut
        return Standing(head_of_row(row._mapping), _proven_head(row), row.final_hash)  # noqa: SLF001  # SQLAlchemy's public name for it

    def hashes(self, first: BlockNumber, last: BlockNumber) -> dict[BlockNumber, Bytes32]:
        """Hashes of the kept blocks of a range."""
        c = t.blocks.c
        with reading(self._engine) as connection:
            rows = connection.execute(select(c.number, c.hash).where(c.number.between(first, last)))
            return {BlockNumber(number): Bytes32(block_hash) for number, block_hash in rows}

    def known(self, until: BlockNumber) -> ProvenHead | None:
        """The newest proof of a block up to this one; None where there is none of a block that the copy still has."""
        proven, h = _newest_proof(until), t.head.c
        found = select(proven, h.quiet, h.finalized_number).join(t.head, h.chain_id == self._chain_id)
        with reading(self._engine) as connection:
            row = connection.execute(found).first()
        return None if row is None else _proven_head(row)

    def first_proof_above(self, number: BlockNumber) -> StorageProof | None:
        """The oldest proof of a block above this one."""
        p = t.proofs.c
        with reading(self._engine) as connection:
            row = connection.execute(select(t.proofs).where(p.number > number).order_by(p.number).limit(1)).first()
        return None if row is None else _proof_of(row)

    def apply(self, step: CopyStep) -> None:
        """Move the copy to ``step.latest`` in one transaction."""
        with writing(self._engine) as connection:
            self.check_fence(connection)
            if step.retract:
                for table in t.FACTS:
                    connection.execute(delete(table).where(table.c.block_number > step.ancestor))
                note_retraction(connection, step.ancestor)
                connection.execute(delete(t.blocks).where(t.blocks.c.number > step.ancestor))
                connection.execute(delete(t.proofs).where(t.proofs.c.number > step.ancestor))
            self._insert(connection, step)
            self._set_head(connection, step)
            self._forget_final(connection)

    def halt(self, reason: str) -> None:
        """Record why the copy no longer moves; readers answer 503 until an operator acts."""
        with writing(self._engine) as connection:
            self.check_fence(connection)
            connection.execute(update(t.head).where(t.head.c.chain_id == self._chain_id).values(halted=reason))

    def _insert(self, connection: Connection, step: CopyStep) -> None:
        if step.headers:
            connection.execute(insert(t.blocks), [_block_row(header) for header in step.headers])
        if step.proof is not None:
            proof = {each.name: getattr(step.proof, each.name) for each in t.proofs.c}
            added = upsert(t.proofs).values(proof)
            connection.execute(added.on_conflict_do_update(index_elements=[t.proofs.c.number], set_=proof))
        times = {header.number: header.time for header in step.headers}
        rows: dict[Table, list[dict[str, object]]] = defaultdict(list)
        for log in step.logs:
            for table, row in project(log, times[log.block_number]):
                rows[table].append(row)
        for table, values in rows.items():
            copy_rows(connection, table, values)
        if rows:
            keep_up(connection)

    def _set_head(self, connection: Connection, step: CopyStep) -> None:
        values: dict[str, object] = {
            "hub_address": self._hub,
            "block_number": step.latest.number,
            "block_hash": step.latest.hash,
            "block_time": step.latest.time,
            "tip_number": step.tip,
            "proven_number": _newest_complete(),
            "updated_at": func.now(),
        }
        if step.retract:
            depth = t.head.c.block_number - step.ancestor
            values["reorg_count"] = t.head.c.reorg_count + 1
            values["deepest_reorg"] = func.greatest(t.head.c.deepest_reorg, depth)
        h = t.head.c
        kept_quiet = and_(literal(not step.logs and step.checked), h.quiet)
        follows = and_(literal(step.checked), h.checked_number >= step.ancestor)
        values["quiet"] = literal(True) if step.proof is not None else kept_quiet
        values["checked_number"] = case(
            (follows, step.latest.number), else_=func.least(h.checked_number, step.ancestor)
        )
        if step.finalized is not None:
            values["finalized_number"] = func.greatest(t.head.c.finalized_number, step.finalized.number)
            values["finalized_time"] = func.greatest(t.head.c.finalized_time, step.finalized.time)
        connection.execute(update(t.head).where(t.head.c.chain_id == self._chain_id).values(values))

    def _forget_final(self, connection: Connection) -> None:
        """Delete what no reorg can bring back: headers below the final block, and all proofs up to there except the
        newest one and the newest that shows that nothing is missing."""
        final = select(t.head.c.finalized_number).where(t.head.c.chain_id == self._chain_id).scalar_subquery()
        connection.execute(delete(t.blocks).where(t.blocks.c.number < final))
        p = t.proofs.c
        newest_final = select(func.max(p.number)).where(p.number <= final).scalar_subquery()
        superseded = and_(p.number < newest_final, p.number.is_distinct_from(_newest_complete()))
        connection.execute(delete(t.proofs).where(superseded))

    def check_fence(self, connection: Connection, schema: str = t.SCHEMA) -> None:
        """Raise ``FencedOut`` where another writer has the copy; else none takes it until the transaction ends."""
        head = t.head if schema == t.SCHEMA else t.head.to_metadata(MetaData(), schema=schema)
        held = select(head.c.fence).where(head.c.chain_id == self._chain_id).with_for_update()
        if connection.execute(held).scalar() != self._fence:
            raise FencedOut


def _newest_proof(until: ColumnElement[int] | int) -> LateralFromClause:
    """The newest proof of a block up to this one, with the hash that the copy has of that block."""
    p = t.proofs.c
    proofs = select(t.proofs, t.blocks.c.hash.label("kept")).outerjoin(t.blocks, t.blocks.c.number == p.number)
    return proofs.where(p.number <= until).order_by(p.number.desc()).limit(1).lateral("proven")


def _proven_head(row: Row[Any]) -> ProvenHead | None:
    """Of a row of ``_newest_proof`` with what the head has beside it."""
    if row.number is None or (row.kept != row.hash and row.number >= row.finalized_number):
        return None  # there is none
    return ProvenHead(_proof_of(row), row.quiet)


def _newest_complete() -> ScalarSelect[Any]:
    """Up to which block nothing is missing from the copy."""
    return select(func.max(t.proofs.c.number)).where(t.proofs.c.since == FROM_THE_FIRST).scalar_subquery()


@contextmanager
def only_writer(
    engine: Engine,
    chain_id: ChainId,
    hub: Address,
    start: Header | None,
    *,
    space: int = COPY_SPACE,
    anew: bool = False,
) -> Iterator[Writer]:
    """Hold the chain's lock; raises ``AnotherWriter`` when it is taken, ``DatabaseUnavailable`` when nobody can tell.
    ``start``: the block before the Hub's first; None where there is a copy, else ``NoCopy``.

    ``space`` distinguishes the copy that is read from the scratch copy, which has a lock of its own. ``anew``: what
    another one left is deleted first.
    """
    with ExitStack() as session:
        with translated():
            lock = session.enter_context(engine.connect())
            taken = try_chain_lock(lock, space, chain_id)
            lock.commit()
        if not taken:
            raise AnotherWriter
        try:
            with writing(engine) as connection:
                if anew:
                    empty_copy(connection)
                fence = _take_fence(connection, chain_id, hub, start)
            yield Writer(engine, chain_id, hub, fence)
            with suppress(OperationalError):  # the session has ended, and its lock with it
                release_chain_lock(lock, space, chain_id)
        finally:
            lock.invalidate()  # closing the session releases the lock, in any state


def _take_fence(connection: Connection, chain_id: ChainId, hub: Address, start: Header | None) -> int:
    """Change the fencing token to one that nobody had: after a failover that lost the last one, the next of a count
    would be another writer's, too. The first writer of a chain writes where the copy starts."""
    fence = secrets.randbits(62)
    changed = update(t.head).where(t.head.c.chain_id == chain_id).values(fence=fence)
    found = connection.execute(changed.returning(t.head.c.hub_address)).first()
    if found is None:
        _begin_copy(connection, chain_id, hub, start, fence)
    if found is not None and found.hub_address != hub:
        raise NoCopy("the copy in this database is of another Hub")
    return fence


def _begin_copy(connection: Connection, chain_id: ChainId, hub: Address, start: Header | None, fence: int) -> None:
    """Write where a copy starts: at a block before the Hub, of which nothing is stored."""
    if start is None:
        raise NoCopy
    first = {
        "chain_id": chain_id,
        "hub_address": hub,
        "block_number": start.number,
        "block_hash": start.hash,
        "block_time": start.time,
        "finalized_number": start.number,
        "finalized_time": UnixSeconds(start.time),
        "fence": fence,
        "proven_number": start.number,
        "checked_number": start.number,
        "quiet": True,
    }
    connection.execute(insert(t.head), [first])
    connection.execute(insert(t.blocks), [_block_row(start)])
    empty = {"number": start.number, "hash": start.hash, "storage_root": EMPTY_ROOT, "since": FROM_THE_FIRST}
    connection.execute(insert(t.proofs), [empty])


def empty_copy(connection: Connection) -> None:
    """Delete all of a copy."""
    for table in (*t.FACTS, t.changes, t.blocks, t.proofs, t.head):
        connection.execute(delete(table))


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


def _proof_of(row: Row[Any]) -> StorageProof:
    return StorageProof(BlockNumber(row.number), Bytes32(row.hash), Bytes32(row.storage_root), BlockNumber(row.since))


def _block_row(header: Header) -> dict[str, object]:
    return {"number": header.number, "hash": header.hash, "parent_hash": header.parent_hash, "time": header.time}
