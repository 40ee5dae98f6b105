"""``service-indexer status``: how far the copy is, how old that knowledge is, and whether anybody adds to it."""

import time
from collections.abc import Iterator
from typing import Final

from bounty_protocol.domain.halts import STANDS_STILL_SECONDS
from bounty_protocol.types import ChainId
from redis import Redis
from redis.exceptions import RedisError
from service_common.db import hub_index as t
from service_common.db.hub_reads import read_head
from service_common.newest_block import read_newest
from sqlalchemy import Connection, func, select

from service_indexer.conduct import CONDUCT_SECONDS, read_conduct

_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def status_lines(connection: Connection, redis: Redis, chain_id: ChainId) -> Iterator[str]:
    """What an operator reads: of the copy from the database, of the endpoints from the follower's last report."""
    head = read_head(connection, chain_id)
    if head is None:
        yield "nothing indexed yet"
    else:
        moved = func.extract("epoch", func.now() - t.head.c.updated_at)  # both by the database's clock
        seconds = connection.execute(select(moved).where(t.head.c.chain_id == chain_id)).scalar_one()
        behind = max(0, head.tip_number - head.block_number)
        final = f"final up to {head.finalized_number}, {lasting(head.finality_lag_seconds)} before it"
        yield f"block {head.block_number} ({head.block_hash}), {final}"
        yield f"behind by {behind} blocks when it moved last, {ago(float(seconds))}"
        proven = "nothing" if head.proven_number is None else f"block {head.proven_number}"
        yield f"shown to lack nothing up to {proven}"
        yield f"{head.reorg_count} reorgs repaired, the deepest of {head.deepest_reorg} blocks"
    yield from _endpoints(redis, chain_id)
    if head is not None and head.halted:
        yield f"HALTED: {head.halted}"


def _endpoints(redis: Redis, chain_id: ChainId) -> Iterator[str]:
    """Whether a follower is at work, and which endpoints have stopped answering it."""
    try:
        redis.ping()
    except RedisError as error:
        yield f"Redis does not answer ({type(error).__name__}): nothing is known of the follower"
        return
    newest = read_newest(redis, chain_id)
    if newest is not None:
        age = max(0.0, time.time() - newest)
        still = "; the chain itself stands still" if age > STANDS_STILL_SECONDS else ""
        yield f"the chain's newest block is of {ago(age)}{still}"
    reported = read_conduct(redis, chain_id)
    if not reported:
        yield f"no follower has given a sign of life for {CONDUCT_SECONDS} seconds"
    for each in reported:
        if each.failures:
            times = "once" if each.failures == 1 else f"{each.failures} times in a row"
            yield f"endpoint {each.place} has not answered since: it failed {times}"


def ago(seconds: float) -> str:
    """An age: ``4 minutes ago``."""
    return f"{lasting(seconds)} ago" if seconds >= 1 else "just now"


def lasting(seconds: float) -> str:
    """A time in its largest unit, rounded down: ``4 minutes``; one second at least."""
    size, unit = next((each for each in _UNITS if seconds >= each[0]), _UNITS[-1])
    count = max(1, int(seconds // size))
    return f"{count} {unit}{'' if count == 1 else 's'}"
