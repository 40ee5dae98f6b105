"""A fresh replay of the chain beside the copy that is read: to compare with it, or to take its place.

The copy that is read is untouched until a rebuild switches, which is one transaction; readers see the old copy or the
new one, never a mixture. Comparison is over every fact up to the last block that the chain calls final and the copy has
reached, over what follows from the facts (the feed of changes, and which bounties are open), and over where the copy is
in the chain. Nothing may be of a block that the copy is not at yet.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.types import BlockNumber
from service_common.db import hub_index as t
from service_common.db.engine import engine_of_job, reading, writing
from service_common.db.errors import DatabaseUnavailable
from service_common.db.hub_reads import Head, read_head
from sqlalchemy import (
    Column,
    ColumnCollection,
    Connection,
    Engine,
    MetaData,
    Select,
    Table,
    Text,
    cast,
    delete,
    except_,
    exists,
    func,
    insert,
    literal,
    or_,
    select,
    tuple_,
    union_all,
    update,
)
from sqlalchemy.dialects.postgresql import aggregate_order_by

from service_indexer.config import IndexerConfig
from service_indexer.derived import keep_up, note_retraction
from service_indexer.follower import advance
from service_indexer.place import compare_place, is_at_rest, read_place
from service_indexer.source import RpcSource, source_of
from service_indexer.writer import SCRATCH_SPACE, AnotherWriter, FencedOut, Writer, empty_copy, only_writer

SWITCH_SECONDS: Final = 420.0
"""Longer than the follower's job, which looks at the fence only between the steps that slow endpoints draw out."""
MAX_FAILURES: Final = 10
"""How often in a row the endpoints or the database may answer nothing usable."""
PAUSE_SECONDS: Final = 1.0
"""After the first of them, and as much longer after each further one: together a minute, which a failover takes."""
PART_ROWS: Final = 1_000_000
"""Rows that are compared as one text: of 33 million it would be longer than the gigabyte that PostgreSQL permits."""
Progress = Callable[[str], None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One table of the copy against a replay."""

    table: str
    rows: int
    equal: bool


def verify_copy(config: IndexerConfig, say: Progress) -> Iterator[Comparison]:
    """Replay the chain into the scratch copy and compare every table, each told once it is compared: what fails later
    takes nothing of hours back. ``NoCopy`` where there is none."""
    chain = config.chain
    with engine_of_job(config.database_url, application="indexer-verify", limited=False) as engine:
        read_place(engine, chain)  # that there is a copy, before hours of replay
        with (
            _replaying(engine, config, say) as replay,
            reading(engine) as connection,
            reading(replay.scratch) as other,
        ):
            head, fresh = read_head(connection, chain.chain_id), read_head(other, chain.chain_id)
            final = BlockNumber(fresh.finalized_number if fresh else 0)
            common = _common(head, final)
            say(f"comparing every fact up to block {common}")
            for table in t.FACTS:
                yield _compare(connection, other, table, common)
            yield _compare_changes(connection, other, common)
            yield _compare_open(connection)
        place = _asked_again(
            source_of(config, chain.rpc()), say, lambda source: list(compare_place(engine, source, chain, final, say))
        )
        yield from (Comparison(table.name, rows, equal) for table, rows, equal in place)


def rebuild_copy(config: IndexerConfig, say: Progress, *, back: bool = False) -> BlockNumber:
    """Replay the chain into the scratch copy, then switch; the block the new copy is at. ``ChainUnavailable`` where the
    endpoints show less as final than the copy that is read, unless it may go ``back``."""
    with (
        engine_of_job(config.database_url, application="indexer-rebuild", limited=False) as engine,
        _replaying(engine, config, say) as replay,
        _taken_over(engine, config, replay) as writer,
    ):
        with suppress(ChainUnavailable):  # then the follower's newest logs are told as gone, and again
            replay.advance_to_tip()
        if not back:
            head = replay.asked_again(lambda _: writer.head())
            replay.reach_final(head.finalized_number if head else BlockNumber(0))
        with writing(engine) as connection:
            writer.check_fence(connection)  # the lock ends with its session; no follower begins or writes from here on
            replay.writer.check_fence(connection, t.SCRATCH)
            return _switch(connection)


def _switch(connection: Connection) -> BlockNumber:
    """Put the scratch copy in the place of the copy that is read; the block it is at."""
    looks = (_first_difference, _first_taken_back, _first_out_of_order)
    wrong = [found for look in looks if (found := look(connection)) is not None]
    if wrong:
        note_retraction(connection, BlockNumber(min(wrong) - 1))
    connection.execute(delete(t.open_bounties))  # one of no bounty's, which no trigger takes out
    for table in (*t.FACTS, t.blocks, t.proofs):
        fresh = table.to_metadata(MetaData(), schema=t.SCRATCH)
        names = [column.name for column in table.c]
        connection.execute(delete(table))
        connection.execute(insert(table).from_select(names, select(*(fresh.c[name] for name in names))))
    keep_up(connection)
    fresh = t.head.to_metadata(MetaData(), schema=t.SCRATCH)
    moved = (
        *("block_number", "block_hash", "block_time", "finalized_number", "finalized_time"),
        *("proven_number", "checked_number", "quiet"),
    )
    switched = (
        update(t.head)
        .where(t.head.c.chain_id == fresh.c.chain_id)
        .values(
            {name: fresh.c[name] for name in moved}
            | {"halted": None, "rebuilds": t.head.c.rebuilds + 1, "updated_at": func.now()}
        )
    )
    return BlockNumber(connection.execute(switched.returning(t.head.c.block_number)).scalar_one())


@dataclass(frozen=True, slots=True)
class Replay:
    """The scratch copy while nobody else may write it."""

    start: Header
    """The block that it began with."""
    scratch: Engine
    source: RpcSource
    writer: Writer
    say: Progress

    def advance_to_tip(self) -> None:
        """Bring it to the chain's newest block."""
        reported, busy = time.monotonic(), True
        while busy:
            busy, head = self.asked_again(lambda source: (advance(source, self.writer), self.writer.head()))
            if head is not None and head.block_number >= head.tip_number:
                return  # blocks that came meanwhile are the follower's: where a step takes as long as one, there are
            if head is not None and time.monotonic() - reported > 2:
                reported = time.monotonic()
                self.say(f"replayed up to block {head.block_number}")

    def reach_final(self, number: BlockNumber) -> None:
        """Raise ``ChainUnavailable`` where no endpoint shows this block as final: what was told as final is not to be
        taken back for one that is behind."""

        def look(source: RpcSource) -> None:
            while (head := self.writer.head()) is None or head.finalized_number < number:
                if not advance(source, self.writer):
                    shown = 0 if head is None else head.finalized_number
                    reason = f"the chain is final up to block {shown} by it, up to {number} by the copy that is read"
                    raise ChainUnavailable(f"{reason}; if the copy is wrong, rebuild with --back")

        self.asked_again(look)

    def asked_again(self, ask: Callable[[RpcSource], T]) -> T:
        """What ``ask`` gives; see ``_asked_again``."""
        return _asked_again(self.source, self.say, ask)


def _asked_again(source: RpcSource, say: Progress, ask: Callable[[RpcSource], T]) -> T:
    """What ``ask`` gives, of one endpoint after the other: a replay of hours is not given up for a moment, of the
    database either, as long as nobody else has written the copy meanwhile."""
    failures = 0
    while True:
        try:
            return ask(source)
        except (ChainUnavailable, DatabaseUnavailable) as error:
            failures += 1
            if failures > MAX_FAILURES:
                raise
            if isinstance(error, ChainUnavailable):
                say(f"another endpoint is asked next: {error}")
                source.distrust()
            else:
                say(f"once more in a moment: {error}")
            time.sleep(PAUSE_SECONDS * failures)


@contextmanager
def _replaying(engine: Engine, config: IndexerConfig, say: Progress) -> Iterator[Replay]:
    """The scratch copy, empty at first and brought to the tip; emptied again at the end. Its lock is held until then:
    another replay that began would empty it, or have a half of it switched to."""
    chain = config.chain
    scratch = engine.execution_options(schema_translate_map={t.SCHEMA: t.SCRATCH})
    source = source_of(config, chain.rpc())
    start = source.header(chain.first_block)
    with only_writer(scratch, chain.chain_id, chain.hub_address, start, space=SCRATCH_SPACE, anew=True) as writer:
        replay = Replay(start, scratch, source, writer, say)
        try:
            replay.advance_to_tip()
            yield replay
        finally:
            with (
                suppress(DatabaseUnavailable, FencedOut),
                writing(scratch) as connection,
            ):  # else the next one empties it
                writer.check_fence(connection)
                empty_copy(connection)


@contextmanager
def _taken_over(engine: Engine, config: IndexerConfig, replay: Replay) -> Iterator[Writer]:
    """Hold the copy's lock, which a follower gives up when its fencing token is out of date."""
    chain = config.chain
    ends = time.monotonic() + SWITCH_SECONDS

    def take(_: RpcSource) -> Writer:
        with writing(engine) as connection:
            connection.execute(
                update(t.head).where(t.head.c.chain_id == chain.chain_id).values(fence=t.head.c.fence + 1)
            )
        return held.enter_context(only_writer(engine, chain.chain_id, chain.hub_address, replay.start))

    replay.say("waiting for the follower to step aside")
    with ExitStack() as held:
        while True:
            try:
                writer = replay.asked_again(take)
                break
            except AnotherWriter:
                if time.monotonic() > ends:
                    raise
                time.sleep(0.05)
        yield writer


def _first_difference(connection: Connection) -> int | None:
    """The first block of whose logs the feed of changes told something else than the scratch copy has; None where all
    that it told is so. What the scratch copy has beyond it is new."""
    c, ours, fresh = t.changes.c, t.logs.c, t.logs.to_metadata(MetaData(), schema=t.SCRATCH)
    kept = (ours.block_number == c.block_number) & (ours.log_index == c.log_index)
    columns = [column for column in ours if column.name not in {"block_number", "log_index"}]
    feed = select(c.block_number, c.log_index, *columns).select_from(t.changes.outerjoin(t.logs, kept))
    told = feed.where(c.log_index.is_not(None)).subquery("told")
    newest = select(func.coalesce(func.max(told.c.block_number), -1)).scalar_subquery()
    same = (told.c.block_number == fresh.c.block_number) & (told.c.log_index == fresh.c.log_index)
    differs = or_(*(told.c[column.name].is_distinct_from(fresh.c[column.name]) for column in ours))
    block = func.coalesce(told.c.block_number, fresh.c.block_number)
    both = told.outerjoin(fresh, same, full=True)
    found: int | None = connection.execute(
        select(func.min(block)).select_from(both).where(differs, block <= newest)
    ).scalar()
    return found


def _common(head: Head | None, final: BlockNumber) -> BlockNumber:
    """Up to where a copy has to be as the chain is: the chain's own final block, since the head may be altered."""
    if head is None:
        return BlockNumber(0)
    ours = head.finalized_number if is_at_rest(head.block_number, final) else head.block_number
    return BlockNumber(min(ours, final))


def _compare(copy: Connection, fresh: Connection, table: Table, final: BlockNumber) -> Comparison:
    ours, theirs = _digest(copy, table, final), _digest(fresh, table, final)
    return Comparison(table.name, ours[0], ours == theirs and not _is_ahead(copy, table))


def _is_ahead(copy: Connection, table: Table) -> bool:
    """Whether a log's row is of a block that the copy has not reached: in no comparison until the chain is there."""
    c, newest = table.c, select(t.head.c.block_number).scalar_subquery()
    later = exists().where(c.block_number > newest, c.log_index.is_not(None))
    return bool(copy.execute(select(later)).scalar_one())


def _compare_changes(copy: Connection, fresh: Connection, final: BlockNumber) -> Comparison:
    """The feed of changes has every log once, in the order of the chain, and took back none of them later. Its numbers
    are the copy's own."""
    c, logs = t.changes.c, t.logs.c
    told = _places(c, by=(c.number,)).where(c.log_index.is_not(None), c.block_number <= final)
    due = _places(logs, by=(logs.block_number, logs.log_index)).where(logs.block_number <= final)
    ours, theirs = _digest_in_order(copy, told), _digest_in_order(fresh, due)
    is_so = ours == theirs and _first_taken_back(copy) is None and not _is_ahead(copy, t.changes)
    return Comparison(t.changes.name, ours[0], is_so)


def _places(table: ColumnCollection[str, Column[Any]], by: Sequence[Column[Any]]) -> Select[tuple[str, int]]:
    """Where each log is, numbered in the order of ``by``."""
    row = func.concat(table.block_number, "-", table.log_index, " ")
    return select(row.label("row"), func.row_number().over(order_by=by).label("number"))


def _first_taken_back(connection: Connection) -> int | None:
    """The first block of whose logs the feed says later that they are gone, and which it has not told again; None where
    there is none. What it tells is in the order of the chain, so that the newest before a retraction decides."""
    c, back = t.changes.c, t.changes.alias("back").c
    before = select(c.block_number).where(c.log_index.is_not(None), c.number < back.number)
    newest = before.order_by(c.number.desc()).limit(1).scalar_subquery()
    gone = select(func.min(back.block_number)).where(back.log_index.is_(None), newest > back.block_number)
    found: int | None = connection.execute(gone).scalar()
    return None if found is None else found + 1


def _first_out_of_order(connection: Connection) -> int | None:
    """The first block of whose logs the feed tells after a later one; None where it is in the order of the chain."""
    c = t.changes.c
    place = (c.block_number, c.log_index)
    former = [func.lag(each).over(order_by=c.number).label(f"former_{each.name}") for each in place]
    p = select(*place, *former).where(c.log_index.is_not(None)).subquery("places").c
    later = tuple_(p.former_block_number, p.former_log_index) > tuple_(p.block_number, p.log_index)
    found: int | None = connection.execute(select(func.min(p.block_number)).where(later)).scalar()
    return found


def _compare_open(copy: Connection) -> Comparison:
    """The bounties that have not ended are those without an ending, with their own times."""
    b, f = t.bounties.c, t.finalizations.c
    times = [column.name for column in t.open_bounties.c]
    due = select(*(b[name] for name in times)).where(~exists().where(f.bounty_id == b.bounty_id))
    listed = select(*(t.open_bounties.c[name] for name in times))
    differing = union_all(except_(due, listed), except_(listed, due)).subquery()
    rows = copy.execute(select(func.count()).select_from(t.open_bounties)).scalar_one()
    return Comparison(
        t.open_bounties.name, rows, not copy.execute(select(func.count()).select_from(differing)).scalar_one()
    )


def _digest(connection: Connection, table: Table, final: BlockNumber) -> tuple[int, str | None]:
    """How many rows up to ``final``, and a digest over all of them in chain order."""
    row = func.md5(cast(func.row(*table.c), Text))  # which keeps apart where a column ends, and what is NULL
    number = func.row_number().over(order_by=(table.c.block_number, table.c.log_index, row))
    return _digest_in_order(
        connection, select(row.label("row"), number.label("number")).where(table.c.block_number <= final)
    )


def _digest_in_order(connection: Connection, rows: Select[tuple[str, int]]) -> tuple[int, str | None]:
    """How many rows, each a ``row`` with its ``number``, and a digest over them: of the digests of their parts."""
    r = rows.subquery("rows").c
    part = r.number // PART_ROWS
    digest = func.md5(func.string_agg(r.row, aggregate_order_by(literal(""), r.number)))
    p = select(part.label("part"), func.count().label("count"), digest.label("digest")).group_by(part).subquery().c
    whole = func.md5(func.string_agg(p.digest, aggregate_order_by(literal(""), p.part)))
    found = connection.execute(select(func.sum(p.count), whole)).one()
    return int(found[0] or 0), found[1]
