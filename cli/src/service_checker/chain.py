"""What a node shows of the chain: the Hub's log, the token's transfers, blocks, and calls of views."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import eth_abi
from eth_utils.crypto import keccak

from service_checker.asking import MAX_PART_BYTES, Node, Unread, host_of
from service_checker.hub_log import TRANSFER, HubLog, decode, place_of, plain

FIRST_RANGE: Final = 2_000
"""Blocks of one query of logs: halved when a node refuses, doubled when it answers."""
MAX_RANGE: Final = 100_000
MAX_LOGS: Final = 1_000_000
"""Of one reading: a node that invents more ends the check, and not the machine's memory."""


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
    logs: list[HubLog] = field(default_factory=list)
    head: ChainBlock = ChainBlock(0, "", 0)
    finalized: ChainBlock = ChainBlock(0, "", 0)
    _kept_until: int = -1
    """The finalized block up to which the logs were read, which no later reading changes."""
    _blocks: dict[int, ChainBlock] = field(default_factory=dict)
    _transfers: dict[tuple[int, int], Transfer] = field(default_factory=dict)
    _transfers_until: int = -1

    def refresh(self) -> None:
        """Read what is new, and again what is not finalized: a reorg may have replaced it.

        Raises ``Unread`` where the node has another block in the place of one that was finalized.
        """
        if self._kept_until >= 0 and self.block(self._kept_until).hash != self.finalized.hash:
            raise Unread(f"the finalized block {self._kept_until} is another one now")
        for _ in range(5):
            head = self.block("latest")
            finalized = self.block("finalized")
            kept = [log for log in self.logs if log.place.block_number <= self._kept_until]
            self._blocks = {number: each for number, each in self._blocks.items() if number <= self._kept_until}
            begin = max(self._kept_until + 1, self.from_block)
            found = [self._decoded(log) for log in self._logs(begin, head.number, {"address": self.hub})]
            if self.block(head.number).hash == head.hash and all(found):
                self.head, self.finalized = head, finalized
                self.logs = kept + [log for log in found if log is not None]
                self._kept_until = finalized.number
                return
        raise Unread("the chain changed in each of five readings")

    def block(self, at: int | str) -> ChainBlock:
        """One block by its number or tag; raises ``Unread`` where the chain has none."""
        found = self.node.call("eth_getBlockByNumber", at if isinstance(at, str) else hex(at), False)
        if not isinstance(found, dict):
            raise Unread(f"the node has no block {at}")
        return ChainBlock(int(found["number"], 16), str(found["hash"]).lower(), int(found["timestamp"], 16))

    def block_at(self, number: int) -> ChainBlock:
        """One block by its number, kept."""
        if number not in self._blocks:
            self._blocks[number] = self.block(number)
        return self._blocks[number]

    def transfers(self, token: str, until: int) -> list[Transfer]:
        """What the token moved to and from the Hub until a finalized block; what was read before is kept."""
        hub, begin = "0x" + self.hub[2:].rjust(64, "0"), max(self._transfers_until + 1, self.from_block)
        for topics in ([TRANSFER, None, hub], [TRANSFER, hub]):
            for log in self._logs(begin, until, {"address": token, "topics": topics}):
                self._transfers[int(log["blockNumber"], 16), int(log["logIndex"], 16)] = Transfer(
                    "0x" + log["topics"][1][-40:].lower(),
                    "0x" + log["topics"][2][-40:].lower(),
                    int(log["data"], 16),
                    int(log["blockNumber"], 16),
                    str(log["transactionHash"]).lower(),
                )
        self._transfers_until = max(self._transfers_until, until)
        return [transfer for _, transfer in sorted(self._transfers.items())]

    def call(self, to: str, function: str, arguments: Sequence[object], returns: Sequence[str], at: int) -> list[Any]:
        """A view at a block: ``function`` is the signature, the results are integers, hex and lists."""
        kinds = [kind for kind in function.partition("(")[2].rstrip(")").split(",") if kind]
        data = keccak(text=function)[:4] + eth_abi.abi.encode(kinds, list(arguments))
        found = self.node.call("eth_call", {"to": to, "data": "0x" + data.hex()}, hex(at))
        try:
            return [plain(each) for each in eth_abi.abi.decode(list(returns), bytes.fromhex(str(found)[2:]))]
        except (ValueError, eth_abi.exceptions.DecodingError) as error:
            raise Unread(f"{function} answers what cannot be decoded: {error}") from None

    def _decoded(self, log: Mapping[str, Any]) -> HubLog | None:
        block, place = self.block_at(int(log["blockNumber"], 16)), place_of(log)
        return decode(log, block.time) if block.hash == place.block_hash else None

    def _logs(self, begin: int, end: int, wanted: Mapping[str, object]) -> list[Mapping[str, Any]]:
        """What a node shows of the wanted logs; raises ``Unread`` where it is more than can be held."""
        found, size, received = list[Mapping[str, Any]](), FIRST_RANGE, self.node.received
        while begin <= end:
            last = min(begin + size - 1, end)
            asked = {**wanted, "fromBlock": hex(begin), "toBlock": hex(last)}
            try:
                part = self.node.call("eth_getLogs", asked)
            except Unread:
                if size == 1:
                    raise
                size = max(1, size // 2)
                continue
            found += part
            if len(found) > MAX_LOGS or self.node.received - received > MAX_PART_BYTES:
                raise Unread(
                    f"{host_of(self.node.url)} sent more than {MAX_LOGS:,} logs or {MAX_PART_BYTES >> 20} MiB of them: "
                    "check with another endpoint in --rpc"
                )
            begin, size = last + 1, min(size * 2, MAX_RANGE)
        return found
