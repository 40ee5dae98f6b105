"""Block facts for request freshness, from a small per-process cache.

It makes one batched fill at the start, at most one RPC call per new block, at most one shared refresh per 250 ms for a
number above the cached head, and one batched fill after a gap or a reorg. ``ChainUnavailable`` passes through: an
unreachable chain is never an answer. For as long as an early refresh waits, the next callers get the same error without
another request, so that one endpoint that hangs does not make them queue. Blocks that do not link are never accepted,
and another endpoint is queried next. Thread-safe.
"""

from itertools import pairwise
from threading import Lock
from typing import Final

from bounty_protocol.chain.blocks import Header, header_at, headers_between
from bounty_protocol.chain.json_rpc import ChainUnavailable, JsonRpc, RpcRefused
from bounty_protocol.clock import Clock
from bounty_protocol.types import BlockNumber, Bytes32

EARLY_REFRESH_SECONDS: Final = 0.25
CALL_SECONDS: Final = 3.0
MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024


class BlockCache:
    """The last ``window`` + 1 blocks of the chain by number."""

    def __init__(self, rpc: JsonRpc, clock: Clock, *, window: int, block_time: float) -> None:
        self._rpc = rpc.bounded(seconds=CALL_SECONDS, max_answer_bytes=MAX_ANSWER_BYTES)
        self._clock = clock
        self._window, self._block_time = window, block_time
        self._hashes: dict[BlockNumber, Bytes32] = {}
        self._head = BlockNumber(-1)
        self._refreshed_at = self._failed_at = float("-inf")
        self._lock, self._refreshing = Lock(), Lock()

    def head(self) -> BlockNumber:
        """The newest block number, at most two block times old."""
        self._refresh_if_older_than(self._block_time, patient=False)
        return self._head

    def hash_at(self, number: BlockNumber) -> Bytes32 | None:
        """The canonical hash at ``number``; None when it is above the head or below the cached window."""
        early = number > self._head
        self._refresh_if_older_than(EARLY_REFRESH_SECONDS if early else self._block_time, patient=early)
        with self._lock:
            return self._hashes.get(number)

    def _refresh_if_older_than(self, seconds: float, *, patient: bool) -> None:
        """Query the chain if the cache is older. While one caller does, only those wait who need the answer: the
        ``patient``, and everybody once the cache is two block times old."""
        age = self._clock.monotonic() - self._refreshed_at
        if age < seconds or not self._refreshing.acquire(blocking=patient or age >= 2 * self._block_time):
            return
        try:
            if self._clock.monotonic() - self._refreshed_at >= seconds:
                self._refresh()
        finally:
            self._refreshing.release()

    def _refresh(self) -> None:
        if self._clock.monotonic() - self._failed_at < EARLY_REFRESH_SECONDS:
            raise ChainUnavailable("the chain did not answer a moment ago")
        try:
            head = header_at(self._rpc, "latest")
            if head.hash != self._hashes.get(head.number):
                self._take(head)
        except (ChainUnavailable, RpcRefused) as error:
            self._failed_at = self._clock.monotonic()
            self._rpc.distrust()
            problem = "the chain's newest block could not be read"
            if isinstance(error, ChainUnavailable):
                raise error.restated(ChainUnavailable, problem) from error
            raise ChainUnavailable(problem) from error
        self._refreshed_at = self._clock.monotonic()

    def _take(self, head: Header) -> None:
        """Only the one caller that refreshes is here."""
        if head.number == self._head + 1 and head.parent_hash == self._hashes.get(self._head):
            hashes = {**self._hashes, head.number: head.hash}
            hashes.pop(BlockNumber(head.number - self._window - 1), None)
        else:
            first = BlockNumber(max(0, head.number - self._window))
            headers = headers_between(self._rpc, first, head.number)
            if headers[-1].hash != head.hash or any(a.hash != b.parent_hash for a, b in pairwise(headers)):
                raise ChainUnavailable("the chain changed while it was read")
            hashes = {header.number: header.hash for header in headers}
        with self._lock:
            self._hashes, self._head = hashes, head.number
