"""The chain as a node shows it: the Hub's log with the times of its blocks, and the world after each block."""

import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import eth_abi
from eth_utils.crypto import keccak

from service_audit.events import HubLog, decode, place_of, plain
from service_audit.http import MALFORMED, Unread
from service_audit.node import MAX_BATCH, Call, Node, hexadecimal, octets, quantity, readable
from service_audit.rules import World

LOCAL_CHAIN_ID: Final = 31_337
"""Of one machine's own chain, whose newest block may be old: some make one for a transaction alone."""
STANDS_STILL_SECONDS: Final = 120
"""How old a newest block may be by this machine's clock (docs/client.md)."""
NEAR_SECONDS: Final = 2
"""An answer may be a second older than the copy that it names, and a block's time is a whole second."""
NEAR_BLOCKS: Final = 16
"""Blocks of 0.2 s in as long, and some more."""
READINGS: Final = 5
KEPT_WORLDS: Final = 64


@dataclass(frozen=True, slots=True)
class ChainBlock:
    """A block's number, hash and time in seconds."""

    number: int
    hash: str
    time: int


NO_BLOCK: Final = ChainBlock(-1, "", 0)


@dataclass(frozen=True, slots=True)
class Moment:
    """The world after a block."""

    world: World
    block: ChainBlock


class BlockAhead(Unread):
    """An answer is of a block that the node does not have."""


@dataclass(frozen=True, slots=True)
class View:
    """A call of a contract's view: its signature, its arguments, and the types that it returns."""

    to: str
    function: str
    arguments: tuple[object, ...]
    returns: tuple[str, ...]


@dataclass(slots=True)
class Chain:
    """One chain with its Hub, read from ``from_block`` on.

    What is final is read once. What is not is read again at each refresh, because a reorg may have replaced it.
    """

    node: Node
    hub: str
    from_block: int = 0
    now: Callable[[], float] = time.time
    chain_id: int = 0
    """0 before anything was read."""
    logs: list[HubLog] = field(default_factory=list)
    head: ChainBlock = NO_BLOCK
    finalized: ChainBlock = NO_BLOCK
    head_age: float = 0.0
    """Of the newest block when it was read, in seconds."""
    _numbers: list[int] = field(default_factory=list)
    """The blocks of the logs."""
    _final: World | None = None
    """The world after the newest block that was final when it was read."""
    _worlds: dict[int, World] = field(default_factory=dict)
    """Later worlds, by the number of their events."""
    _blocks: dict[int, ChainBlock] = field(default_factory=dict)

    def refresh(self) -> None:
        """Read what is new. Raise ``Unread`` where a final block, or the chain, is another one now."""
        with readable("the number of the chain"):
            chain_id = quantity(self.node.call("eth_chainId"))
        if self.chain_id not in {0, chain_id}:
            raise Unread(f"the node is of chain {chain_id} now, and was of {self.chain_id}")
        self.chain_id = chain_id
        kept = self.finalized
        if kept.number >= 0 and self.block(kept.number).hash != kept.hash:
            raise Unread(f"the final block {kept.number} is another one now")
        for _ in range(READINGS):
            head, finalized = self.block("latest"), self.block("finalized")
            age = self.now() - head.time
            new = self._read(max(kept.number + 1, self.from_block), head.number)
            is_one_chain = finalized.number <= head.number and self.block(head.number).hash == head.hash
            if new is not None and is_one_chain:
                self._take(new, kept, finalized)
                self.head, self.finalized, self.head_age = head, finalized, age
                return
        raise Unread(f"the chain changed in each of {READINGS} readings")

    def forget(self) -> None:
        """Read everything from the first block on at the next refresh."""
        self.logs, self._numbers, self._final = [], [], None
        self._worlds, self._blocks = {}, {}
        self.head = self.finalized = NO_BLOCK

    def _read(self, begin: int, end: int) -> list[HubLog] | None:
        """Return the Hub's logs of these blocks; None if they are of blocks that the chain does not have now."""
        self._blocks = {}
        found, waiting = list[HubLog](), list[Mapping[str, Any]]()
        for part in self.node.logs(begin, end, self.hub):
            waiting += part
            if len(waiting) >= MAX_BATCH:
                timed = self._timed(waiting)
                if timed is None:
                    return None
                found += timed
                waiting = []
        timed = self._timed(waiting)
        return None if timed is None else found + timed

    def _timed(self, logs: Sequence[Mapping[str, Any]]) -> list[HubLog] | None:
        """Return logs decoded, with the times of their blocks' headers; None if the chain has other blocks now."""
        with readable("a log of the Hub"):
            places = [place_of(log) for log in logs]
            blocks = self.blocks({place.block_number for place in places})
            self._blocks = {}
            if any(blocks[place.block_number].hash != place.block_hash for place in places):
                return None
            return [decode(log, blocks[place.block_number].time) for log, place in zip(logs, places, strict=True)]

    def _take(self, new: list[HubLog], kept: ChainBlock, finalized: ChainBlock) -> None:
        """Put new logs after those that were final, and the world on to the block that is final now."""
        count = bisect_right(self._numbers, kept.number)
        first = (self.logs if count else new)[:1]
        if not first or first[0].name != "Deployed":
            raise Unread("no Hub was deployed here: another chain, another address, or --from-block is after it")
        self.logs[count:] = new
        self._numbers = [log.place.block_number for log in self.logs]
        self._worlds = {}
        # Fork, so that worlds handed out before do not change.
        world = self._final.fork() if self._final is not None else World(self.chain_id, self.hub)
        for log in self.logs[world.count : bisect_right(self._numbers, finalized.number)]:
            world.apply(log)
        self._final = world

    @property
    def still(self) -> str | None:
        """How long ago the newest block was, where the node showed no new one for long."""
        if self.chain_id == LOCAL_CHAIN_ID or self.head_age <= STANDS_STILL_SECONDS:
            return None
        minutes = int(self.head_age // 60)
        return f"one of {minutes} minutes ago by this machine's clock: the node stands still, or the chain does"

    # ------------------------------------------------------------------ worlds

    def world_at(self, number: int) -> World:
        """Return the world after a block."""
        count = bisect_right(self._numbers, number)
        if self._final is not None and count == self._final.count:
            return self._final
        found = self._worlds.get(count)
        if found is None:
            before = [world for world in self._worlds.values() if world.count < count]
            if self._final is not None and self._final.count < count:
                before.append(self._final)
            nearest = max(before, key=lambda world: world.count, default=World(self.chain_id, self.hub))
            found = nearest.fork()
            for log in self.logs[found.count : count]:
                found.apply(log)
            if len(self._worlds) >= KEPT_WORLDS:
                self._worlds.clear()
            self._worlds[count] = found
        return found

    def moments(self, number: int) -> list[Moment]:
        """Return what an answer that names this block may be of, the newest first."""
        if number > self.head.number:
            self.refresh()
            if number > self.head.number and self.still is not None:
                raise Unread(f"the newest block is {self.still}")
            if number > self.head.number:
                raise BlockAhead(f"the node does not have block {number}, which an answer is of")
        blocks = self.blocks(range(max(0, number - NEAR_BLOCKS + 1), number + 1))
        newest = blocks[number]
        near = [each for each in blocks.values() if each.time >= newest.time - NEAR_SECONDS]
        return [Moment(self.world_at(each.number), each) for each in sorted(near, key=lambda each: -each.number)]

    # ------------------------------------------------------------------ blocks and views

    def block(self, at: int | str) -> ChainBlock:
        """Return one block by its number or tag; raise ``Unread`` where the chain has none."""
        found = self.node.call("eth_getBlockByNumber", at if isinstance(at, str) else hex(at), False)
        return _block(found, at)

    def blocks(self, numbers: Iterable[int]) -> dict[int, ChainBlock]:
        """Return blocks by their numbers, and keep them until the next refresh."""
        wanted = sorted(set(numbers))
        missing = [number for number in wanted if number not in self._blocks]
        calls: list[Call] = [("eth_getBlockByNumber", [hex(number), False]) for number in missing]
        for number, found in zip(missing, self.node.batch(calls), strict=True):
            self._blocks[number] = _block(found, number)
        return {number: self._blocks[number] for number in wanted}

    def view(self, view: View, at: int) -> list[Any]:
        """Return the values of one view at a block; raise ``Unread`` where there are none."""
        (found,) = self.views([view], at)
        if isinstance(found, Unread):
            raise found
        return found

    def views(self, views: Sequence[View], at: int) -> list[list[Any] | Unread]:
        """Return the values of views at a block; what the node does not give is an ``Unread`` in its place."""
        calls: list[Call] = [("eth_call", [{"to": each.to, "data": _data(each)}, hex(at)]) for each in views]
        return [_decoded(view, found) for view, found in zip(views, self.node.batch(calls), strict=True)]


def _block(found: Any, at: int | str) -> ChainBlock:
    if isinstance(found, Unread):
        raise found
    if found is None:
        raise Unread(f"the node has no block {at}")
    with readable(f"block {at}"):
        block = ChainBlock(quantity(found["number"]), hexadecimal(found["hash"], 32), quantity(found["timestamp"]))
        if isinstance(at, int) and block.number != at:
            raise ValueError("another block")
    return block


def _data(view: View) -> str:
    kinds = [kind for kind in view.function.partition("(")[2].rstrip(")").split(",") if kind]
    data: bytes = keccak(text=view.function)[:4] + eth_abi.abi.encode(kinds, list(view.arguments))
    return "0x" + data.hex()


def _decoded(view: View, found: Any) -> list[Any] | Unread:
    if isinstance(found, Unread):
        return found
    try:
        return [plain(each) for each in eth_abi.abi.decode(list(view.returns), octets(found))]
    except (*MALFORMED, eth_abi.exceptions.DecodingError) as error:
        return Unread(f"{view.function} answers what cannot be decoded: {type(error).__name__}")
