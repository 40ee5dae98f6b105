"""A new copy from the chain's first log on, beside the copy that is read, and then in its place.

The copy that is read is untouched until the switch, which is one transaction: readers see the old copy or the new one.
Followers of the changes are told from where on the old one differed.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.types import BlockNumber
from service_common.db import hub_index as t
from service_common.db.engine import engine_of_job, writing
from service_common.db.errors import DatabaseUnavailable
from sqlalchemy import Connection, MetaData, Table, delete, func, insert, or_, select, update

from service_indexer.chain import FollowedChain, chain_of
from service_indexer.changes import keep_up, note_retraction
from service_indexer.config import IndexerConfig
from service_indexer.follower import Follower
from service_indexer.writer import NoCopy, Writer

_MOST_FAILURES: Final = 10
"""Failures in a row, of the endpoints or the database; with the pauses between them a minute, which a
failover takes.
"""
_TRIES: Final = 3
"""Attempts of the switch: finality may have moved since the new copy looked."""
_MOVED: Final = (
    *("block_number", "block_hash", "block_time", "finalized_number", "finalized_hash", "finalized_time"),
    "tip_number",
)
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """Where the new copy is, and the first block whose logs the former one had differently; None for none."""

    block: BlockNumber
    differed_from: BlockNumber | None


class Behind(Exception):
    """The new copy knows less as final than the one that is read."""


def rebuild_copy(config: IndexerConfig, say: Progress, *, back: bool = False) -> Rebuilt:
    """Read the chain again and switch copies; return the result.

    Raises ``Behind`` if the endpoints' final block is older than the copy's, unless it may go ``back``.
    """
    settings = config.chain
    chain = chain_of(config)
    with engine_of_job(config.database_url, application="indexer-rebuild", limited=False) as engine:
        if Writer(engine, settings.chain_id, settings.hub_address).position() is None:
            raise NoCopy("there is no copy of this chain in the database")
        with writing(engine) as connection:
            for table in (*t.FACTS, t.changes, t.head):
                connection.execute(delete(_scratch(table)))
        writer, tries = Writer(engine, settings.chain_id, settings.hub_address, t.SCRATCH), _TRIES
        while True:
            _read_history(chain, writer, settings.first_block, say)
            try:
                with writing(engine) as connection:
                    return _switch(connection, back=back)
            except Behind:
                tries -= 1
                if not tries:
                    raise


def _read_history(chain: FollowedChain, writer: Writer, start: BlockNumber, say: Progress) -> None:
    """Bring a new copy to the chain's newest block; after a failure, continue where it stopped."""
    follower, failures, reported = Follower(chain, writer, start), 0, time.monotonic()
    while True:
        try:
            is_busy, failures = follower.step(), 0
            if not is_busy and follower.has_history:
                return
            if not is_busy:
                time.sleep(1)  # an endpoint is behind
            if time.monotonic() - reported > 2 and (position := writer.position()) is not None:
                reported = time.monotonic()
                say(f"read up to block {position.head.block_number}")
        except (ChainUnavailable, DatabaseUnavailable) as error:
            failures += 1
            if failures > _MOST_FAILURES:
                raise
            say(f"retrying in a moment: {error}")
            chain.distrust()
            time.sleep(failures)


def _switch(connection: Connection, *, back: bool) -> Rebuilt:
    """Replace the copy that is read with the new one."""
    fresh = _scratch(t.head)
    kept = connection.execute(select(t.head.c.finalized_number).with_for_update()).scalar() or 0
    shown = connection.execute(select(fresh.c.finalized_number)).scalar_one()
    if shown < kept and not back:
        raise Behind(
            f"the chain is final up to block {shown} according to the RPC endpoints, but up to {kept} according to "
            "the copy; if the copy is wrong, rebuild with --back"
        )
    differing = _first_difference(connection)
    if differing is not None:
        note_retraction(connection, BlockNumber(differing - 1))
    for table in t.FACTS:
        connection.execute(delete(table))
        connection.execute(insert(table).from_select([column.name for column in table.c], select(_scratch(table))))
    keep_up(connection)
    moved: dict[str, object] = {name: fresh.c[name] for name in _MOVED}
    moved |= {"halted": None, "updated_at": func.clock_timestamp()}
    switched = update(t.head).where(t.head.c.chain_id == fresh.c.chain_id).values(moved)
    block = connection.execute(switched.returning(t.head.c.block_number)).scalar_one()
    return Rebuilt(BlockNumber(block), differing)


def _first_difference(connection: Connection) -> BlockNumber | None:
    """Return the first block for which the feed of changes had logs other than the new copy's."""
    c, ours, new = t.changes.c, t.logs.c, _scratch(t.logs)
    fresh = new.c
    kept = (ours.block_number == c.block_number) & (ours.log_index == c.log_index)
    columns = [column for column in ours if column.name not in {"block_number", "log_index"}]
    feed = select(c.block_number, c.log_index, *columns).select_from(t.changes.outerjoin(t.logs, kept))
    told = feed.where(c.log_index.is_not(None)).subquery("told")
    same = (told.c.block_number == fresh.block_number) & (told.c.log_index == fresh.log_index)
    differs = or_(*(told.c[column.name].is_distinct_from(fresh[column.name]) for column in ours))
    block = func.coalesce(told.c.block_number, fresh.block_number)
    newest = select(func.coalesce(func.max(told.c.block_number), -1)).scalar_subquery()
    both = told.outerjoin(new, same, full=True)
    found = select(func.min(block)).select_from(both).where(differs, block <= newest)
    first: BlockNumber | None = connection.execute(found).scalar()
    return first


def _scratch(table: Table) -> Table:
    return table.to_metadata(MetaData(), schema=t.SCRATCH)
