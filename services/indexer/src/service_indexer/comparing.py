"""The copy compares itself with the chain, a stretch of final blocks at a time.

Newly final blocks are compared soon after they are, and all of history once in ``ROUND``, or as often as the calls that
a day may have allow. The chain is read from another endpoint than the one that is queried first, where there is one, by
ranges of logs. Where what it lists differs from the rows, the blocks' receipts decide, or the other endpoints: an
endpoint that listed wrong is counted and halts nothing; rows that are wrong make their bounties disputed, so that
nothing is authorized by them until a rebuild.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from bounty_protocol.chain.events import Log
from bounty_protocol.types import BlockNumber, BountyId, ChainId, UnixSeconds
from service_common.db import hub_index as t
from service_common.db.engine import reading, writing
from service_common.log import get_logger
from sqlalchemy import Connection, Engine, Table, case, func, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from service_indexer.projection import project
from service_indexer.source import MAX_SPAN, RpcSource

ROUND: Final = timedelta(days=7)
EVERYTHING: Final = BountyId(0)
"""In place of a bounty: rows that belong to none, such as a roster's."""
_COMPARED: Final = tuple(table for table in t.FACTS if table is not t.totals)
_DECIDED_AT_ONCE: Final = 50
"""Blocks that differ in one stretch; of more, the others are met again in the next round, or by ``verify``."""

Rows = dict[tuple[str, tuple[object, ...]], dict[str, object]]
"""Rows by table and place in the chain."""

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Compared:
    """A stretch, and the bounties in it whose rows are wrong."""

    first: BlockNumber
    last: BlockNumber
    disputed: frozenset[BountyId]


@dataclass(frozen=True, slots=True)
class _Due:
    """The next comparison; ``new``: blocks that became final since."""

    first: BlockNumber
    final: BlockNumber
    new: bool


class Comparer:
    """Compares in turns: what became final since, and where the round is."""

    def __init__(self, engine: Engine, chain_id: ChainId, source: RpcSource, first_block: BlockNumber) -> None:
        self._engine, self._chain_id, self._source, self._first = engine, chain_id, source, first_block
        self._was_new = False

    def step(self) -> Compared | None:
        """Compare the next stretch that is due; None where none is. One query of logs, where nothing differs."""
        due = self._due()
        if due is None:
            return None
        self._was_new = due.new
        last = BlockNumber(min(due.final, due.first + MAX_SPAN - 1))
        answer = self._source.part_of_range(due.first, last)
        with reading(self._engine) as connection:
            ours = _rows_of_copy(connection, due.first, answer.covered)
        differing = _differing_blocks(ours, answer.logs)
        asked = sorted(differing | _blocks_of_one_log(ours))[:_DECIDED_AT_ONCE]
        disputed, decided = _decide(self._source, ours, asked)
        for number in differing & decided - {number for _, number in disputed}:
            self._source.blame(number)
        with writing(self._engine) as connection:
            self._note(connection, due, answer.covered, disputed)
        if disputed:
            log.error("rows of the copy are not the chain's", blocks=sorted({number for _, number in disputed}))
        return Compared(due.first, answer.covered, frozenset(bounty_id for bounty_id, _ in disputed))

    def _due(self) -> _Due | None:
        c = t.head.c
        over = (c.compare_began < func.now() - ROUND).label("over")
        with reading(self._engine) as connection:
            row = connection.execute(select(t.head, over).where(c.chain_id == self._chain_id)).first()
        if row is None or row.halted is not None or row.finalized_number < self._first:
            return None
        final, is_under_way = BlockNumber(row.finalized_number), row.compare_next > 0
        is_due = is_under_way or row.over or row.compare_new == 0
        if 0 < row.compare_new < final and not (is_due and self._was_new):
            return _Due(BlockNumber(row.compare_new + 1), final, new=True)
        first = BlockNumber(row.compare_next) if is_under_way else self._first
        return _Due(first, final, new=False) if is_due else None

    def _note(
        self, connection: Connection, due: _Due, covered: BlockNumber, disputed: set[tuple[BountyId, BlockNumber]]
    ) -> None:
        """How far the comparison is, and what it found."""
        c, values = t.head.c, dict[str, Any]()
        if due.new:
            values["compare_new"] = func.greatest(c.compare_new, covered)
        else:
            begins = due.first == self._first
            began = func.now() if begins else c.compare_began
            values |= {"compare_next": 0 if covered >= due.final else covered + 1, "compare_began": began}
            values["compare_new"] = case((c.compare_new == 0, due.final), else_=c.compare_new)
            if covered >= due.final:
                values["compared_at"] = began
        if disputed:
            rows = [{"bounty_id": bounty_id, "block_number": number} for bounty_id, number in disputed]
            connection.execute(upsert(t.disputes).values(rows).on_conflict_do_nothing())
            values["disputed"] = select(func.count()).select_from(t.disputes).scalar_subquery()
        connection.execute(update(t.head).where(c.chain_id == self._chain_id).values(values))


def _rows_of_copy(connection: Connection, first: BlockNumber, last: BlockNumber) -> Rows:
    found: Rows = {}
    for table in _COMPARED:
        rows = connection.execute(select(table).where(table.c.block_number.between(first, last))).mappings()
        for row in map(dict, rows):
            found[_key(table, row)] = row
    return found


def _differing_blocks(ours: Rows, logs: Iterable[Log]) -> set[BlockNumber]:
    """Blocks whose rows are not those of these logs."""
    times = {_block(row): _number(row, "time") for row in ours.values()}
    return {_block(row) for row in _differences(ours, _expected(logs, times))}


def _blocks_of_one_log(ours: Rows) -> set[BlockNumber]:
    """Blocks with nothing but what no table but ``logs`` has: its time stands nowhere else to compare it with."""
    tables = defaultdict[BlockNumber, set[str]](set)
    for (table, _), row in ours.items():
        tables[_block(row)].add(table)
    return {number for number, names in tables.items() if names == {t.logs.name}}


def _expected(logs: Iterable[Log], times: Mapping[BlockNumber, int]) -> Rows:
    """The copy's rows for these logs; a block without a time here is one of which it has nothing."""
    found: Rows = {}
    for entry in logs:
        try:
            for table, row in project(entry, UnixSeconds(times.get(entry.block_number, 0))):
                found[_key(table, row)] = row
        except ValueError:  # no log of the Hub's
            found["", (entry.block_number, entry.log_index)] = {"block_number": entry.block_number}
    return found


def _key(table: Table, row: Mapping[str, Any]) -> tuple[str, tuple[object, ...]]:
    place = (row["block_number"], row["log_index"])
    return table.name, (*place, row["position"]) if table is t.roster_members else place


def _differences(ours: Rows, theirs: Rows) -> Iterator[dict[str, object]]:
    """Rows of either that the other does not have alike."""
    for key, row in ours.items():
        if theirs.get(key) != row:
            yield row
    for key, row in theirs.items():
        if ours.get(key) != row:
            yield row


def _decide(
    source: RpcSource, ours: Rows, blocks: Sequence[BlockNumber]
) -> tuple[set[tuple[BountyId, BlockNumber]], set[BlockNumber]]:
    """The bounties whose rows in these blocks are wrong, each with the block; and the blocks that something decides."""
    by_block = defaultdict[BlockNumber, Rows](dict)
    for key, row in ours.items():
        by_block[_block(row)][key] = row
    disputed, decided = set[tuple[BountyId, BlockNumber]](), set[BlockNumber]()
    for number in blocks:
        kept = by_block[number]
        header = source.leading_header(number, {str(row["block_hash"]) for row in kept.values()})
        logs = None if header is None else source.decided_logs(header)
        if header is None or logs is None:
            log.error("rows differ from what an endpoint lists, and nothing decides", block=number)
            continue
        decided.add(number)
        wrong = {_bounty(row) for row in _differences(kept, _expected(logs, {number: header.time}))}
        disputed |= {(bounty_id, number) for bounty_id in wrong}
    return disputed, decided


def _bounty(row: Mapping[str, object]) -> BountyId:
    found = row.get("bounty_id")
    return BountyId(found) if isinstance(found, int) else EVERYTHING


def _block(row: Mapping[str, object]) -> BlockNumber:
    return BlockNumber(_number(row, "block_number"))


def _number(row: Mapping[str, object], name: str) -> int:
    found = row[name]
    return found if isinstance(found, int) else 0
