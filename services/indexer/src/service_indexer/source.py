"""What the indexer asks the chain, and how it distrusts the answers.

Promises: near the tip, logs are asked for by block hash and only where the header's bloom filter admits one, and an
answer without logs where the filter says there must be some is checked again; behind finality, logs come by range,
as long as the endpoint allows: a refused range is asked for in smaller parts.
Every answer of the wrong block, address or order raises ``ChainUnavailable``: it is never written.
"""

from dataclasses import dataclass
from typing import Final, Protocol

import sha3
from service_common.chain.blocks import Header, headers_between, parse_header
from service_common.chain.events import Log, parse_log
from service_common.chain.json_rpc import ChainUnavailable, JsonRpc, RpcRefused
from service_common.types import Address, BlockNumber, to_bytes

MAX_SPAN: Final = 2_000
FIRST_SPAN: Final = 4
"""Blocks asked for at once; halved when an endpoint refuses or the answer is large, doubled otherwise."""
MAX_LOGS: Final = 2_000
"""Logs of one step of the copy: bounds memory and the length of a transaction."""


class TooManyLogs(Exception):
    """An endpoint refused a range: too many results, too many blocks. A smaller one may do."""


@dataclass(frozen=True, slots=True)
class Tip:
    """The newest block and the newest finalized one, asked for at once."""

    latest: Header
    finalized: Header


@dataclass(frozen=True, slots=True)
class RangeLogs:
    """Logs of a range, up to and including block ``covered``."""

    logs: list[Log]
    covered: BlockNumber


class Source(Protocol):
    """The chain as the follower needs it."""

    def tip(self) -> Tip:
        """Where the chain is."""

    def headers(self, first: BlockNumber, last: BlockNumber) -> list[Header]:
        """Headers of a range, both ends included."""

    def logs_of_range(self, first: BlockNumber, last: BlockNumber) -> RangeLogs:
        """The Hub's logs of a finalized range, or of its beginning when there are many."""

    def logs_of_block(self, header: Header) -> list[Log]:
        """The Hub's logs of exactly this block."""


class RpcSource:
    """A Hub on a chain reached over JSON-RPC."""

    def __init__(self, rpc: JsonRpc, hub: Address) -> None:
        self._rpc, self._hub = rpc, hub
        self._span = FIRST_SPAN

    def tip(self) -> Tip:
        latest, finalized = self._rpc.batch(
            [("eth_getBlockByNumber", ["latest", False]), ("eth_getBlockByNumber", ["finalized", False])]
        )
        for answer in (latest, finalized):
            if isinstance(answer, RpcRefused):
                raise ChainUnavailable("an RPC endpoint refused to show its tip") from answer
        return Tip(parse_header(latest), parse_header(finalized))

    def headers(self, first: BlockNumber, last: BlockNumber) -> list[Header]:
        headers = headers_between(self._rpc, first, last)
        if [header.number for header in headers] != list(range(first, last + 1)):
            raise ChainUnavailable("an RPC endpoint answered other blocks than it was asked for")
        return headers

    def logs_of_range(self, first: BlockNumber, last: BlockNumber) -> RangeLogs:
        logs: list[Log] = []
        while first <= last and len(logs) < MAX_LOGS:
            end = BlockNumber(min(last, first + self._span - 1))
            try:
                part = self._logs({"fromBlock": hex(first), "toBlock": hex(end)})
            except TooManyLogs:
                if end == first:
                    raise ChainUnavailable("an RPC endpoint refuses to list the logs of one block") from None
                self._span = (end - first + 1) // 2
                continue
            if any(not first <= log.block_number <= end for log in part):
                raise ChainUnavailable("an RPC endpoint answered logs of other blocks than it was asked for")
            logs += part
            first = BlockNumber(end + 1)
            # Providers limit results, and so does our memory: dense blocks are asked for in short ranges.
            self._span = max(1, self._span // 2) if len(part) > MAX_LOGS // 2 else min(MAX_SPAN, self._span * 2)
        return RangeLogs(logs, BlockNumber(first - 1))

    def logs_of_block(self, header: Header) -> list[Log]:
        if not bloom_admits(header.logs_bloom, to_bytes(self._hub)):
            return []
        try:
            logs = self._logs({"blockHash": header.hash})
        except TooManyLogs as refusal:
            raise ChainUnavailable("an RPC endpoint refused to list the logs of a block") from refusal
        if any(log.block_hash != header.hash for log in logs):
            raise ChainUnavailable("an RPC endpoint answered logs of another block than it was asked for")
        return logs

    def _logs(self, block: dict[str, str]) -> list[Log]:
        try:
            answer = self._rpc.call("eth_getLogs", {"address": self._hub, **block})
        except RpcRefused as refusal:
            raise TooManyLogs from refusal
        if not isinstance(answer, list):
            raise ChainUnavailable("an RPC endpoint answered no list of logs")
        logs = [parse_log(item) for item in answer]
        places = [(log.block_number, log.log_index) for log in logs]
        if places != sorted(set(places)) or any(log.address != self._hub for log in logs):
            raise ChainUnavailable("an RPC endpoint answered logs out of order or of another contract")
        return logs


def bloom_admits(bloom: bytes, value: bytes) -> bool:
    """Whether a block's bloom filter admits ``value``; a missing filter admits everything."""
    if len(bloom) != 256:
        return True
    digest = sha3.keccak_256(value).digest()
    bits = (int.from_bytes(digest[i : i + 2], "big") & 2047 for i in (0, 2, 4))
    return all(bloom[255 - bit // 8] >> (bit % 8) & 1 for bit in bits)
