"""The Hub's whole storage out of the copy's own facts, compared with the root that the chain proves.

Nodes prove only their newest blocks, so that a copy of a long history, or one that was behind for a while, rests on
what endpoints listed. One proven root of a new block vouches for all of it at once: had a log been left out or altered
that still shows in what the Hub stores, the root would be another. What was replaced since is not in it: an earlier
Submission or Verdict, which counts for nothing, and what the Hub does not store (docs/indexer.md).

The words are sorted by the database, so that the memory is the same for any number of bounties.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from threading import Event
from typing import TypeVar

from bounty_protocol.keccak import keccak256
from bounty_protocol.types import BlockNumber, Bytes32, ChainId
from psycopg import Connection as PsycopgConnection
from service_common.db import hub_index as t
from service_common.db.engine import reading, writing
from service_common.log import get_logger
from sqlalchemy import Connection, Engine, select, update

from service_indexer.merkle import encode_string, large_tree_root
from service_indexer.proving import FROM_THE_FIRST, StorageProof
from service_indexer.storage import stored_words
from service_indexer.writer import newest_complete

T = TypeVar("T")

log = get_logger(__name__)


class ComparisonStopped(Exception):
    """The process ends before the comparison does."""


@dataclass(frozen=True, slots=True)
class ComparedCopy:
    """The result of a comparison: up to which block, and whether the copy's facts give the proven root."""

    number: BlockNumber
    equal: bool


def vouch(engine: Engine, chain_id: ChainId, ended: Event) -> ComparedCopy | None:
    """Compare at the newest proof, where nothing shows yet that the copy is complete up to there; None otherwise.

    ``ComparisonStopped`` when ``ended`` is set meanwhile.
    """
    with reading(engine) as connection:
        found = _open_proof(connection, chain_id)
        if found is None:
            return None
        proof, reorgs = found
        root = root_of_copy(connection, engine, proof.number, ended)
    if root != proof.storage_root:
        log.error("the copy's facts do not give the Hub's storage", block=proof.number)
        return ComparedCopy(proof.number, equal=False)
    with writing(engine) as connection:
        head = connection.execute(
            select(t.head.c.reorg_count).where(t.head.c.chain_id == chain_id).with_for_update()
        ).scalar_one()
        if head != reorgs:
            return None  # some of what was compared may be gone
        connection.execute(update(t.proofs).where(t.proofs.c.since == proof.since).values(since=FROM_THE_FIRST))
        connection.execute(update(t.head).where(t.head.c.chain_id == chain_id).values(proven_number=newest_complete()))
    log.info("the copy's facts give the Hub's storage", block=proof.number)
    return ComparedCopy(proof.number, equal=True)


def _open_proof(connection: Connection, chain_id: ChainId) -> tuple[StorageProof, int] | None:
    """The newest proof with the number of reorgs until now; None where it is complete, or a log is not checked."""
    p, h = t.proofs.c, t.head.c
    row = connection.execute(
        select(t.proofs, h.reorg_count)
        .join_from(t.proofs, t.head, h.chain_id == chain_id)
        .where(h.checked_number >= p.number)
        .order_by(p.number.desc())
        .limit(1)
    ).first()
    if row is None or row.since == FROM_THE_FIRST:
        return None
    proof = StorageProof(BlockNumber(row.number), Bytes32(row.hash), Bytes32(row.storage_root), BlockNumber(row.since))
    return proof, row.reorg_count


def root_of_copy(facts: Connection, engine: Engine, until: BlockNumber, ended: Event | None = None) -> Bytes32:
    """The root of the storage that the Hub has after block ``until`` if the copy's facts are true and whole."""
    with engine.begin() as connection:
        driver = connection.connection.driver_connection
        if not isinstance(driver, PsycopgConnection):
            raise TypeError("not a psycopg connection")
        with driver.cursor() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE words (key bytea, value bytea) ON COMMIT DROP")
            with cursor.copy("COPY words FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types(["bytea", "bytea"])
                for slot, value in _until(ended, stored_words(facts, until)):
                    text = value.to_bytes((value.bit_length() + 7) // 8, "big")
                    copy.write_row((keccak256(slot), encode_string(text)))
        with driver.cursor("words") as cursor:
            cursor.itersize = 5_000
            cursor.execute("SELECT key, value FROM words ORDER BY key", binary=True)
            return large_tree_root(_until(ended, cursor))


def _until(ended: Event | None, rows: Iterable[T]) -> Iterator[T]:
    for row in rows:
        if ended is not None and ended.is_set():
            raise ComparisonStopped
        yield row
