"""The blocks that signed requests name, and how old each is by the times in the chain's headers.

A request costs the first endpoint at most two calls: the newest header, read at most once a second in a process, and
the named block, which is kept while it is fresh. If that endpoint lacks the block, each of several is asked for it once
more; if it shows another hash than the request names, two of several have to agree before anybody is refused. A block
that is known to be too old, or is far ahead of the newest, costs no call. ``ChainUnavailable`` passes through: an
unreachable chain is never an answer. Thread-safe.
"""

from collections.abc import Sequence
from threading import Lock
from typing import Final

from bounty_protocol.auth.verify import FRESHNESS_SECONDS, CanonicalBlock
from bounty_protocol.chain.blocks import Header, header_call, parse_header
from bounty_protocol.chain.rpc import ChainUnavailable, OneEndpoint, Rpc
from bounty_protocol.clock import Clock
from bounty_protocol.types import BlockNumber, Bytes32

NEWEST_SECONDS: Final = 1.0
"""For how long the newest header is kept, and how often at most a kept block is read again."""
PATIENT_SECONDS: Final = 5.0
"""While one caller reads the newest header, the others go on with one that is younger than this."""
AFTER_FAILURE_SECONDS: Final = 0.25
MOST_AHEAD: Final = 300
"""By how many blocks an endpoint may lag behind the one that a request was signed with."""
CALL_SECONDS: Final = 3.0
MAX_ANSWER_BYTES: Final = 1 << 20
_TOO_OLD: Final = CanonicalBlock(None, FRESHNESS_SECONDS)


class RecentBlocks:
    """The ``ChainView`` of request verification."""

    def __init__(self, rpc: Rpc, clock: Clock) -> None:
        self._rpc = rpc.bounded(seconds=CALL_SECONDS, max_answer_bytes=MAX_ANSWER_BYTES)
        self._clock = clock
        self._newest: Header | None = None
        self._read_at = self._failed_at = self._compared_at = float("-inf")
        self._fresh: dict[BlockNumber, Header] = {}
        self._agreed: set[BlockNumber] = set()
        """Those of the fresh blocks that two endpoints have shown."""
        self._first_fresh = BlockNumber(0)
        self._lowest_absent, self._absent_at = BlockNumber(0), float("-inf")
        self._lock, self._reading = Lock(), Lock()

    def newest(self) -> Header:
        """Return the newest header, about a second old at most."""
        return self._newest_beside(None)

    def block_at(self, number: BlockNumber, named: Bytes32) -> CanonicalBlock | None:
        """Return the canonical block at a number; None if no endpoint has it."""
        if number < self._first_fresh:
            return _TOO_OLD
        kept = self._fresh.get(number)
        newest = self._newest_beside(number)
        if number < self._first_fresh:  # as the two headers showed
            return _TOO_OLD
        block = self._fresh.get(number) or self._read(number, newest)
        if block is not None and block.hash != named:
            block = self._compared(block, newest, is_kept=block is kept)
        if block is None and number <= newest.number:
            raise ChainUnavailable("no RPC endpoint shows a block older than its newest one")
        return None if block is None else CanonicalBlock(block.hash, newest.time - block.time)

    def _newest_beside(self, number: BlockNumber | None) -> Header:
        """Read the newest header if the cached one is too old, in one request with the block that is also needed."""
        newest, age = self._newest, self._clock.monotonic() - self._read_at
        if newest is not None and age < NEWEST_SECONDS:
            return newest
        may_wait = newest is None or age >= PATIENT_SECONDS
        if not self._reading.acquire(blocking=may_wait) and newest is not None:
            return newest
        try:
            if self._newest is not None and self._clock.monotonic() - self._read_at < NEWEST_SECONDS:
                return self._newest  # another caller read it meanwhile
            if self._clock.monotonic() - self._failed_at < AFTER_FAILURE_SECONDS:
                raise ChainUnavailable("the chain did not answer a moment ago")
            newest, *named = self._ask(["latest"] if number is None or number in self._fresh else ["latest", number])
            if newest is None:
                raise ChainUnavailable("no RPC endpoint has a newest block")
        except ChainUnavailable:
            self._failed_at = self._clock.monotonic()
            raise
        else:
            with self._lock:
                self._newest, self._read_at = newest, self._clock.monotonic()
                self._keep(newest, *(each for each in named if each is not None))
                if named == [None] and number is not None and len(self._rpc.endpoints.all) == 1:
                    self._lowest_absent, self._absent_at = number, self._clock.monotonic()
            return newest
        finally:
            self._reading.release()

    def _keep(self, newest: Header, *others: Header) -> None:
        """Cache what was read, and forget what is no longer fresh; the caller holds the lock."""
        self._fresh |= {each.number: each for each in (newest, *others)}
        stale = [number for number, block in self._fresh.items() if newest.time - block.time > FRESHNESS_SECONDS]
        if stale:
            self._first_fresh = BlockNumber(max(self._first_fresh, *stale) + 1)
            self._fresh = {number: block for number, block in self._fresh.items() if number not in stale}
            self._agreed -= set(stale)

    def _read(self, number: BlockNumber, newest: Header) -> Header | None:
        """Read one block from the first endpoint that has it; None if no endpoint has."""
        is_absent = number >= self._lowest_absent and self._clock.monotonic() - self._absent_at < NEWEST_SECONDS
        if number > newest.number and (is_absent or number > newest.number + MOST_AHEAD):
            return None
        block = self._ask([number])[0]
        if block is None and len(self._rpc.endpoints.all) > 1:
            answers = self._rpc.of_each([header_call(number)])
            block = next((parse_header(answer) for (answer,) in answers if isinstance(answer, dict)), None)
        return self._cached(block, number, newest)

    def _cached(self, block: Header | None, number: BlockNumber, newest: Header) -> Header | None:
        with self._lock:
            if block is None:
                self._lowest_absent, self._absent_at = number, self._clock.monotonic()
                return None
            if (kept := self._fresh.get(number)) is not None and kept.hash != block.hash:
                self._fresh.clear()  # the chain was reorganized, or an endpoint was wrong
                self._agreed.clear()
            self._keep(newest, block)
        return block

    def _compared(self, block: Header, newest: Header, *, is_kept: bool) -> Header | None:
        """Read a block again of which a request names another hash: the chain was reorganized, or one of several
        endpoints is wrong about it. A made-up hash costs a call of each endpoint, at most once a second.
        """
        if len(self._rpc.endpoints.all) == 1:
            return self._read(block.number, newest) if is_kept and self._may_compare() else block
        if not self._may_compare():
            if block.number not in self._agreed:
                raise ChainUnavailable("the RPC endpoints are being compared")
            return block
        (agreed,) = self._ask([block.number], self._rpc.pair)
        found = self._cached(agreed, block.number, newest)
        with self._lock:
            self._agreed.add(block.number)
        return found

    def _may_compare(self) -> bool:
        """Return whether a cached block may be read again now: a request may name any hash."""
        with self._lock:
            if self._clock.monotonic() - self._compared_at < NEWEST_SECONDS:
                return False
            self._compared_at = self._clock.monotonic()
            return True

    def _ask(self, wanted: Sequence[BlockNumber | str], quorum: int = 1) -> list[Header | None]:
        """Return a header for each number or tag, as that many endpoints show them; None for a number that they do not
        have."""

        def ask(one: OneEndpoint) -> list[Header | None]:
            answers = one.batch([header_call(each) for each in wanted])
            headers = [None if answer is None else parse_header(answer) for answer in answers]
            for header, named in zip(headers, wanted, strict=True):
                if header is None and named == "latest":
                    raise ChainUnavailable("an RPC endpoint has no newest block")
                if header is not None and named not in {"latest", header.number}:
                    raise ChainUnavailable("an RPC endpoint returned a block other than the one requested")
            return headers

        return self._rpc.agreed(ask, quorum)
