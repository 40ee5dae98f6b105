"""Block facts for request freshness, from a small per-process cache.

Promises: one batched fill at the start, at most one RPC call per new block, at most one shared refresh per 250 ms for
a number above the cached head, one batched fill after a gap or a reorg. ``ChainUnavailable`` passes through: an
unreachable chain is never an answer. Thread-safe.
"""

from threading import Lock
from typing import Final

from service_common.chain.blocks import Header, header_at, headers_between
from service_common.chain.json_rpc import JsonRpc
from service_common.clock import Clock
from service_common.types import BlockNumber, Bytes32

EARLY_REFRESH_SECONDS: Final = 0.25


class BlockCache:
    """The last ``window`` + 1 blocks of the chain by number."""

    def __init__(self, rpc: JsonRpc, clock: Clock, *, window: int, block_time: float) -> None:
        self._rpc, self._clock = rpc, clock
        self._window, self._block_time = window, block_time
        self._hashes: dict[BlockNumber, Bytes32] = {}
        self._head = BlockNumber(-1)
        self._refreshed_at = float("-inf")
        self._lock = Lock()

    def head(self) -> BlockNumber:
        """The newest block number, at most one block time old."""
        with self._lock:
            self._refresh_if_older_than(self._block_time)
            return self._head

    def hash_at(self, number: BlockNumber) -> Bytes32 | None:
        """The canonical hash at ``number``; None when it is above the head or below the cached window."""
        with self._lock:
            self._refresh_if_older_than(EARLY_REFRESH_SECONDS if number > self._head else self._block_time)
            return self._hashes.get(number)

    def _refresh_if_older_than(self, seconds: float) -> None:
        if self._clock.monotonic() - self._refreshed_at < seconds:
            return
        head = header_at(self._rpc, "latest")
        if head.hash != self._hashes.get(head.number):
            self._take(head)
        self._refreshed_at = self._clock.monotonic()

    def _take(self, head: Header) -> None:
        if head.number == self._head + 1 and head.parent_hash == self._hashes.get(self._head):
            self._hashes[head.number] = head.hash
        else:
            first = BlockNumber(max(0, head.number - self._window))
            headers = headers_between(self._rpc, first, head.number)
            self._hashes = {header.number: header.hash for header in headers}
        self._head = head.number
        self._hashes.pop(BlockNumber(head.number - self._window - 1), None)
