"""What a node shows of the chain: the Hub's log, the token's transfers, blocks, and calls of views."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import eth_abi
from eth_utils.crypto import keccak

from service_checker.asking import (
    MALFORMED,
    MAX_PART_BYTES,
    Node,
    Unread,
    hexadecimal,
    host_of,
    octets,
    quantity,
    readable,
)
from service_checker.hub_log import TRANSFER, HubLog, decode, place_of, plain

FIRST_RANGE: Final = 2_000
"""Blocks of one query of logs: halved when a node refuses, doubled when it answers."""
MAX_RANGE: Final = 100_000
MAX_LOGS: Final = 1_000_000
"""Of one reading: a node that invents more ends the check, and not the machine's memory."""
LOCAL_CHAIN_ID: Final = 31_337
"""Of one machine's own chain, whose newest block may be old: some make one for a transaction alone."""
STANDS_STILL_SECONDS: Final = 120
"""How old a newest block may be by this machine's clock (docs/chain-halts.md)."""


@dataclass(frozen=True, slots=True)
class ChainBlock:
    """A block's number, hash and time in seconds."""

    number: int
    hash: str
    time: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """Tokens that moved, in base units."""

    sender: str
    receiver: str
    amount: int
    block_number: int
    tx_hash: str


@dataclass(slots=True)
class Chain:
    """One chain with its Hub, read from ``from_block`` on."""

    node: Node
    hub: str
    from_block: int = 0
    now: Callable[[], float] = time.time
    chain_id: int = 0
    """0 before anything was read."""
    logs: list[HubLog] = field(default_factory=list)
    head: ChainBlock = ChainBlock(0, "", 0)
    finalized: ChainBlock = ChainBlock(0, "", 0)
    head_age: float = 0.0
    """Of the newest block when it was read, in seconds."""
    _kept_until: int = -1
    """The finalized block up to which the logs were read, which no later reading changes."""
    _blocks: dict[int, ChainBlock] = field(default_factory=dict)
    _transfers: dict[tuple[int, int], Transfer] = field(default_factory=dict)
    _transfers_until: int = -1

    def refresh(self) -> None:
        """Read what is new, and again what is not finalized: a reorg may have replaced it.

        Raises ``Unread`` where the node has another block in the place of one that was finalized, or another chain.
        """
        with readable("the number of the chain"):
            chain_id = quantity(self.node.call("eth_chainId"))
        if self.chain_id not in {0, chain_id}:
            raise Unread(f"the node is of chain {chain_id} now, and was of {self.chain_id}")
        self.chain_id = chain_id
        if self._kept_until >= 0 and self.block(self._kept_until).hash != self.finalized.hash:
            raise Unread(f"the finalized block {self._kept_until} is another one now")
        for _ in range(5):
            head = self.block("latest")
            age = self.now() - head.time
            finalized = self.block("finalized")
            kept = [log for log in self.logs if log.place.block_number <= self._kept_until]
            self._blocks = {number: each for number, each in self._blocks.items() if number <= self._kept_until}
            begin = max(self._kept_until + 1, self.from_block)
            with readable("a log of the Hub"):
                found = [self._decoded(log) for log in self._logs(begin, head.number, self.hub)]
            is_one_chain = finalized.number <= head.number and self.block(head.number).hash == head.hash
            if is_one_chain and all(found):
                self.head, self.finalized, self.head_age = head, finalized, age
                self.logs = kept + [log for log in found if log is not None]
                self._kept_until = finalized.number
                return
        raise Unread("the chain changed in each of five readings")

    @property
    def still(self) -> str | None:
        """What was seen, where the node showed no new block for long; None where it does."""
        if self.chain_id == LOCAL_CHAIN_ID or self.head_age <= STANDS_STILL_SECONDS:
            return None
        minutes = int(self.head_age // 60)
        return f"one of {minutes} minutes ago by this machine's clock: the node stands still, or the chain does"

    def block(self, at: int | str) -> ChainBlock:
        """One block by its number or tag; raises ``Unread`` where the chain has none."""
        found = self.node.call("eth_getBlockByNumber", at if isinstance(at, str) else hex(at), False)
        if found is None:
            raise Unread(f"the node has no block {at}")
        with readable(f"block {at}"):
            block = ChainBlock(quantity(found["number"]), hexadecimal(found["hash"], 32), quantity(found["timestamp"]))
            if isinstance(at, int) and block.number != at:
                raise ValueError("another block")
        return block

    def block_at(self, number: int) -> ChainBlock:
        """One block by its number, kept."""
        if number not in self._blocks:
            self._blocks[number] = self.block(number)
        return self._blocks[number]

    def transfers(self, token: str, until: int) -> list[Transfer]:
        """What the token moved to and from the Hub until a finalized block; what was read before is kept."""
        hub, begin = "0x" + self.hub[2:].rjust(64, "0"), max(self._transfers_until + 1, self.from_block)
        for topics in ([TRANSFER, None, hub], [TRANSFER, hub]):
            found = self._logs(begin, until, token, topics)
            with readable("a transfer of the token"):
                for log in found:
                    place, (_, sender, receiver) = place_of(log), (octets(topic, 32) for topic in log["topics"])
                    self._transfers[place.block_number, place.log_index] = Transfer(
                        "0x" + sender[-20:].hex(),
                        "0x" + receiver[-20:].hex(),
                        int.from_bytes(octets(log["data"], 32)),
                        place.block_number,
                        place.tx_hash,
                    )
        self._transfers_until = max(self._transfers_until, until)
        return [transfer for _, transfer in sorted(self._transfers.items())]

    def call(self, to: str, function: str, arguments: Sequence[object], returns: Sequence[str], at: int) -> list[Any]:
        """A view at a block: ``function`` is the signature, the results are integers, hex and lists."""
        kinds = [kind for kind in function.partition("(")[2].rstrip(")").split(",") if kind]
        data = keccak(text=function)[:4] + eth_abi.abi.encode(kinds, list(arguments))
        found = self.node.call("eth_call", {"to": to, "data": "0x" + data.hex()}, hex(at))
        try:
            return [plain(each) for each in eth_abi.abi.decode(list(returns), octets(found))]
        except (*MALFORMED, eth_abi.exceptions.DecodingError) as error:
            raise Unread(f"{function} answers what cannot be decoded: {type(error).__name__}") from None

    def _decoded(self, log: Mapping[str, Any]) -> HubLog | None:
        place = place_of(log)
        block = self.block_at(place.block_number)
        return decode(log, block.time) if block.hash == place.block_hash else None

    def _logs(
        self, begin: int, end: int, address: str, topics: Sequence[str | None] | None = None
    ) -> list[Mapping[str, Any]]:
        """A contract's logs in their order; raises ``Unread`` for others, or more than can be held."""
        found, size, received = list[Mapping[str, Any]](), FIRST_RANGE, self.node.received
        while begin <= end:
            last = min(begin + size - 1, end)
            asked: dict[str, object] = {"address": address, "fromBlock": hex(begin), "toBlock": hex(last)}
            if topics is not None:
                asked["topics"] = topics
            try:
                part = self.node.call("eth_getLogs", asked)
            except Unread:
                if size == 1:
                    raise
                size = max(1, size // 2)
                continue
            with readable("a list of logs"):
                if not isinstance(part, list):
                    raise TypeError("no list")
                places = [(quantity(log["blockNumber"]), quantity(log["logIndex"])) for log in part]
                if not all(begin <= number <= last for number, _ in places) or places != sorted(set(places)):
                    raise ValueError("not the blocks that were asked for, in their order")
                if any(str(log["address"]).lower() != address for log in part):
                    raise ValueError("logs of another contract")
            found += part
            if len(found) > MAX_LOGS or self.node.received - received > MAX_PART_BYTES:
                raise Unread(
                    f"{host_of(self.node.url)} sent more than {MAX_LOGS:,} logs or {MAX_PART_BYTES >> 20} MiB of them: "
                    "check with another endpoint in --rpc"
                )
            begin, size = last + 1, min(size * 2, MAX_RANGE)
        return found
