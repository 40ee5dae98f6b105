"""Ranges of final blocks read ahead of the follower, by as many workers as there are.

This is a help and never needed. The follower alone writes facts, in order; a range that a job read is taken only where
it continues the copy, links, and ends in the block the chain still shows; otherwise the follower reads for itself.
Ranges are on a fixed grid, so that each is read once.
"""

import json
from collections.abc import Iterator
from typing import Final

from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.events import Log
from bounty_protocol.chain.json_rpc import ChainUnavailable
from bounty_protocol.types import Address, BlockNumber, Bytes32, ChainId, UnixSeconds
from redis import Redis
from redis.exceptions import RedisError
from rq.worker_registration import get_keys
from service_common.db import hub_index as t
from service_common.db.engine import reading, writing
from service_common.jobs.once import enqueue_once
from service_common.jobs.queues import QueueName, message, open_queue
from service_common.log import get_logger
from sqlalchemy import Engine, delete, select
from sqlalchemy.dialects.postgresql import insert as upsert

from service_indexer.stretch import BLOCKS_PER_STEP, Stretch, check_links

RANGES_AHEAD: Final = 8
"""How many ranges may be waiting or read: bounds what is stored in the database."""
FEWEST_WORKERS: Final = 2
"""The follower's, and one that reads."""
RANGE_SECONDS: Final = 120
"""How long reading one range may take."""

log = get_logger(__name__)


class Backfill:
    """Ranges of one chain that were read and not yet applied."""

    def __init__(self, engine: Engine, chain_id: ChainId) -> None:
        self._engine, self._chain_id = engine, chain_id

    def put(self, stretch: Stretch) -> None:
        """Keep what was read; a second reading of the same range replaces the first."""
        first = stretch.headers[0].number
        row = {"last_block": stretch.headers[-1].number, "stretch": _to_json(stretch)}
        statement = upsert(t.backfill).values(chain_id=self._chain_id, first_block=first, **row)
        with writing(self._engine) as connection:
            connection.execute(
                statement.on_conflict_do_update(
                    index_elements=[t.backfill.c.chain_id, t.backfill.c.first_block], set_=row
                )
            )

    def after(self, parent: Header, final: BlockNumber) -> Stretch | None:
        """The final blocks that follow ``parent``, as read; None where nothing fits."""
        c = t.backfill.c
        holds_next = (c.first_block <= parent.number + 1) & (c.last_block > parent.number) & (c.last_block <= final)
        with reading(self._engine) as connection:
            kept = (
                connection.execute(select(c.stretch).where(c.chain_id == self._chain_id, holds_next)).scalars().first()
            )
        if kept is None:
            return None
        try:
            stretch = _continued(_from_json(kept), parent)
            check_links([parent, *stretch.headers])
        except (ValueError, KeyError, TypeError, ChainUnavailable):
            log.warning("a range read ahead does not continue the copy", after=parent.number)
            return None
        return stretch

    def forget(self, head: BlockNumber) -> None:
        """Delete what the copy has passed."""
        passed = (t.backfill.c.chain_id == self._chain_id) & (t.backfill.c.last_block <= head)
        with writing(self._engine) as connection:
            connection.execute(delete(t.backfill).where(passed))

    def kept(self) -> set[BlockNumber]:
        """First blocks of the ranges that were read."""
        with reading(self._engine) as connection:
            rows = connection.execute(select(t.backfill.c.first_block).where(t.backfill.c.chain_id == self._chain_id))
            return {BlockNumber(first) for first in rows.scalars()}


def enqueue_ahead(redis: Redis, backfill: Backfill, chain_id: ChainId, head: BlockNumber, final: BlockNumber) -> int:
    """Have the ranges after the one the follower is in read by other workers; how many were enqueued now. None
    where the follower's is the only one: what it passes meanwhile would wait for it by the thousand."""
    enqueued, kept = 0, backfill.kept()
    try:
        if _workers(redis) < FEWEST_WORKERS:
            return 0
        for first in ranges_ahead(head, final):
            fields = message(chain_id=chain_id, first_block=first)
            job_id = f"backfill-{chain_id}-{first}"
            if first not in kept and enqueue_once(
                redis, QueueName.INDEX, "service_indexer.jobs.read_ahead", fields, job_id, seconds=RANGE_SECONDS
            ):
                enqueued += 1
    except RedisError as error:
        log.warning("nothing is read ahead", reason=type(error).__name__)
    return enqueued


def _workers(redis: Redis) -> int:
    """Workers of the queue that are alive: one that was killed stays on the library's list after its own key ended."""
    listed = get_keys(open_queue(QueueName.INDEX, redis))
    return int(redis.exists(*listed)) if listed else 0


def ranges_ahead(head: BlockNumber, final: BlockNumber) -> Iterator[BlockNumber]:
    """First blocks of the whole, final ranges that follow the one that holds block ``head`` + 1."""
    first = ((head + 1) // BLOCKS_PER_STEP + 1) * BLOCKS_PER_STEP
    for place in range(RANGES_AHEAD):
        start = first + place * BLOCKS_PER_STEP
        if start + BLOCKS_PER_STEP - 1 <= final:
            yield BlockNumber(start)


def _continued(stretch: Stretch, parent: Header) -> Stretch:
    """The part of a range above ``parent``."""
    return Stretch(
        [header for header in stretch.headers if header.number > parent.number],
        [entry for entry in stretch.logs if entry.block_number > parent.number],
        stretch.checked,
    )


def _to_json(stretch: Stretch) -> str:
    headers = [[h.number, h.hash, h.parent_hash, h.time, h.state_root, h.receipts_root] for h in stretch.headers]
    logs = [
        [e.address, e.block_number, e.block_hash, e.log_index, e.tx_hash, list(e.topics), e.data.hex()]
        for e in stretch.logs
    ]
    kept = {"headers": headers, "logs": logs, "checked": stretch.checked}
    return json.dumps(kept, separators=(",", ":"))


def _from_json(text: str) -> Stretch:
    kept = json.loads(text)
    headers = [
        Header(BlockNumber(number), Bytes32(block_hash), Bytes32(parent), UnixSeconds(time), b"", *roots)
        for number, block_hash, parent, time, *roots in kept["headers"]
    ]
    logs = [
        Log(
            Address(address),
            BlockNumber(number),
            Bytes32(block_hash),
            index,
            Bytes32(tx),
            tuple(topics),
            bytes.fromhex(data),
        )
        for address, number, block_hash, index, tx, topics, data in kept["logs"]
    ]
    return Stretch(headers, logs, kept.get("checked", False))  # a release before 0014 knew no proofs
