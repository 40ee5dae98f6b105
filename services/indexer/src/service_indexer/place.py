"""The copy's own place in the chain against the chain: its ``head``, ``blocks`` and ``proofs``.

The follower moves all three while they are read, and repairs the newest blocks after a reorg. So what differs is looked
at again before it counts. A copy that nobody moves, as of a backup, may have blocks that were replaced since: it is
compared up to its own final block.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import sleep
from typing import Any, Final

from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.endpoints import TOLERATED_LAG
from bounty_protocol.types import BlockNumber
from service_common.chain.settings import ChainSettings
from service_common.db import hub_index as t
from service_common.db.engine import reading
from sqlalchemy import Engine, Row, Table, select

from service_indexer.proving import FROM_THE_FIRST
from service_indexer.source import RpcSource
from service_indexer.stretch import BLOCKS_PER_STEP
from service_indexer.writer import NoCopy

LOOKS: Final = 3
PAUSE_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class CopyPlace:
    """The rows of one moment."""

    head: Row[Any]
    blocks: Sequence[Row[Any]]
    proofs: Sequence[Row[Any]]


def compare_place(
    engine: Engine, source: RpcSource, chain: ChainSettings, final: BlockNumber, say: Callable[[str], None]
) -> Iterator[tuple[Table, int, bool]]:
    """Each of the three tables, how many rows it has, and whether they are the chain's. ``final``: a block that the
    chain called final some time ago, which a copy that is followed has reached. One that has not is no difference, and
    reported."""
    for look in range(LOOKS):
        if look:
            sleep(PAUSE_SECONDS)
        place = read_place(engine, chain)
        wrong = _wrong(place, source, chain, final)
        if not wrong:
            break
    if is_at_rest(place.head.block_number, final):
        say(f"head: it is at block {place.head.block_number}, far behind block {final}, which the chain calls final")
    elif is_at_rest(place.head.finalized_number, final):
        say(f"head: it calls no block after {place.head.finalized_number} final, the chain block {final}")
    for name, why in wrong.items():
        say(f"{name}: {why}")
    for table, rows in ((t.head, 1), (t.blocks, len(place.blocks)), (t.proofs, len(place.proofs))):
        yield table, rows, table.name not in wrong


def is_at_rest(block: int, final: BlockNumber) -> bool:
    """Whether a copy at this block is so far behind the chain's final one that nobody moves it."""
    return block < final - BLOCKS_PER_STEP


def read_place(engine: Engine, chain: ChainSettings) -> CopyPlace:
    """Where the copy is; ``NoCopy`` where there is none of this chain's Hub."""
    with reading(engine) as connection:
        head = connection.execute(select(t.head).where(t.head.c.chain_id == chain.chain_id)).first()
        if head is None:
            raise NoCopy
        if head.hub_address != chain.hub_address:
            raise NoCopy("the copy in this database is of another Hub")
        blocks = connection.execute(select(t.blocks).order_by(t.blocks.c.number)).all()
        proofs = connection.execute(select(t.proofs).order_by(t.proofs.c.number)).all()
    return CopyPlace(head, blocks, proofs)


def _wrong(place: CopyPlace, source: RpcSource, chain: ChainSettings, final: BlockNumber) -> dict[str, str]:
    """What differs, by table."""
    tip = source.tip()
    newest = tip.latest.number
    final = BlockNumber(max(final, tip.finalized.number if tip.finalized else 0))
    head = place.head
    if head.block_number > newest + TOLERATED_LAG:
        return {t.head.name: f"it is at block {head.block_number}, ahead of the chain, which is at {newest}"}
    if head.finalized_number > min(head.block_number, final + TOLERATED_LAG):
        return {t.head.name: f"it calls block {head.finalized_number} final, the chain {final}"}
    until = head.finalized_number if is_at_rest(head.block_number, final) else newest
    numbers = {head.block_number, head.finalized_number, *(row.number for row in (*place.blocks, *place.proofs))}
    headers = _headers(source, {each for each in numbers if each <= until})
    due = range(max(head.finalized_number, chain.first_block + 1), head.block_number + 1)
    found = {
        t.head.name: _wrong_head(head, headers),
        t.blocks.name: _wrong_blocks(place.blocks, due, headers),
        t.proofs.name: _wrong_proofs(place.proofs, head, headers, source),
    }
    return {table: why for table, why in found.items() if why is not None}


def _headers(source: RpcSource, numbers: set[int]) -> dict[int, Header]:
    """The chain's headers of these blocks, by runs of them."""
    found: dict[int, Header] = {}
    for number in sorted(numbers):
        if number not in found:
            last = number
            while last + 1 in numbers and last - number < BLOCKS_PER_STEP - 1:
                last += 1
            found |= {each.number: each for each in source.headers(BlockNumber(number), BlockNumber(last))}
    return found


def _wrong_head(head: Row[Any], headers: Mapping[int, Header]) -> str | None:
    at, final = headers.get(head.block_number), headers.get(head.finalized_number)
    if at is not None and (at.hash, at.time) != (head.block_hash, head.block_time):
        return f"it has another block {head.block_number} than the chain"
    if final is not None and final.time != head.finalized_time:
        return f"it has another time of block {head.finalized_number} than the chain"
    beyond = max(head.proven_number or 0, head.checked_number)
    return f"it calls block {beyond} proven, which it has not reached" if beyond > head.block_number else None


def _wrong_blocks(rows: Sequence[Row[Any]], due: range, headers: Mapping[int, Header]) -> str | None:
    if [row.number for row in rows] != list(due):
        return f"it has not each block from {due.start} to {due.stop - 1} once"
    for row in rows:
        header = headers.get(row.number)
        if header and (header.hash, header.parent_hash, header.time) != (row.hash, row.parent_hash, row.time):
            return f"it has another block {row.number} than the chain"
    return None


def _wrong_proofs(
    rows: Sequence[Row[Any]], head: Row[Any], headers: Mapping[int, Header], source: RpcSource
) -> str | None:
    """The storage root is compared of the newest alone: endpoints need not have older state."""
    for row in rows:
        header = headers.get(row.number)
        if not row.since <= row.number <= head.block_number or (header and header.hash != row.hash):
            return f"it has another block {row.number} than the chain"
    newest = headers.get(rows[-1].number) if rows else None
    if newest is not None and source.proofs is not None:
        root = source.proofs.storage_root(newest)
        if root is not None and root != rows[-1].storage_root:
            return f"it has another storage root of block {newest.number} than the chain"
    complete = max((row.number for row in rows if row.since == FROM_THE_FIRST), default=None)
    if complete is not None and complete != head.proven_number:
        return f"nothing is missing up to block {complete} by it, up to {head.proven_number} by the head"
    return None
