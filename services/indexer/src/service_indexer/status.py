"""``service-indexer status``: how far the copy is, and how old that knowledge is."""

import time
from collections.abc import Iterator
from typing import Final

from bounty_protocol.domain.lifecycle.halts import STANDS_STILL_SECONDS
from bounty_protocol.types import ChainId
from service_common.db.hub_reads import LOOKED_SECONDS, read_head
from sqlalchemy import Connection

_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def status_lines(connection: Connection, chain_id: ChainId) -> Iterator[str]:
    """Say at which block the copy is, how old that information is, and why it halted."""
    head = read_head(connection, chain_id)
    if head is None:
        yield "nothing indexed yet"
        return
    looked = head.seconds_since_look
    final = f"final up to {head.finalized_number}, {lasting(head.finality_lag_seconds)} before it"
    yield f"block {head.block_number} ({head.block_hash}), {final}"
    yield f"{max(0, head.tip_number - head.block_number)} blocks behind at its last check, {ago(looked)}"
    age = max(0.0, time.time() - head.block_time)
    still = "; the chain itself has stopped" if age > STANDS_STILL_SECONDS and looked < LOOKED_SECONDS else ""
    yield f"its newest block is from {ago(age)}{still}"
    yield f"{head.reorg_count} reorgs repaired, the deepest of {head.deepest_reorg} blocks"
    if head.halted:
        yield f"HALTED: {head.halted}"


def ago(seconds: float) -> str:
    """Format an age: ``4 minutes ago``."""
    return f"{lasting(seconds)} ago" if seconds >= 1 else "just now"


def lasting(seconds: float) -> str:
    """Format a time in its largest unit, rounded down: ``4 minutes``; at least one second."""
    size, unit = next((each for each in _UNITS if seconds >= each[0]), _UNITS[-1])
    count = max(1, int(seconds // size))
    return f"{count} {unit}{'' if count == 1 else 's'}"
