"""The chain as the index reads it: what each step asks, and of how many endpoints.

The newest block and the Hub's storage root are what one endpoint says, and final is what ``quorum`` of them call final;
logs and the headers of their blocks count once ``quorum`` endpoints answer the same about one named range. An endpoint
whose answers do not fit together gives none. ``ChainUnavailable`` is raised where too few are left.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from bounty_protocol.chain.blocks import Header, header_call, parse_header
from bounty_protocol.chain.endpoints import Endpoints
from bounty_protocol.chain.events import Log
from bounty_protocol.chain.hub import Hub
from bounty_protocol.chain.logs import logs_of_range
from bounty_protocol.chain.rpc import Answers, Call, ChainUnavailable, OneEndpoint, Rpc, block_number, hash_of
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, UnixSeconds

from service_indexer.config import IndexerConfig

_NO_PROOF_SECONDS: Final = 600.0
"""How long storage roots are not asked for after one was refused."""
_MOST_TIMES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Glimpse:
    """The newest block of one endpoint. ``root``: the Hub's storage root about then, None if none is proven;
    ``fact_hash``: the hash at the number that was asked for, None if the endpoint has no such block."""

    newest: Header
    root: Bytes32 | None
    fact_hash: Bytes32 | None


@dataclass(frozen=True, slots=True)
class LogRange:
    """All logs of the Hub in a range of blocks, the times of their blocks, and the header of the last block."""

    logs: tuple[Log, ...]
    times: Mapping[BlockNumber, UnixSeconds]
    end: Header


class FollowedChain(Protocol):
    """The chain as the follower needs it."""

    def glimpse(self, fact: BlockNumber | None) -> Glimpse:
        """Return the newest block, with the hash at the number ``fact``."""

    def reached(self, newest: Header) -> BlockNumber:
        """Return the newest block that enough endpoints have; ``newest`` if one is enough."""

    def final(self) -> BlockNumber:
        """Return the newest block that enough endpoints call final."""

    def header(self, number: BlockNumber) -> Header:
        """Return a block's header."""

    def logs(self, first: BlockNumber, last: BlockNumber) -> LogRange:
        """Return the Hub's logs of a range, both ends included; if there are many, those up to an earlier ``end``."""

    def open_bounties(self, ids: Sequence[BountyId], block: BlockNumber) -> list[Bytes32 | None]:
        """Return each bounty's page commitment from the Hub itself at a block; None if it is not open then."""

    def distrust(self) -> None:
        """Query another endpoint first from now on."""


class RpcChain:
    """A Hub behind several endpoints. ``finality_depth``: blocks to finality, on a chain without a tag for it."""

    def __init__(self, rpc: Rpc, hub: Address, quorum: int = 1, finality_depth: int | None = None) -> None:
        self._rpc, self._hub, self._quorum, self._depth = rpc, hub, quorum, finality_depth
        self._proofs_from = 0.0
        self._times: dict[Bytes32, UnixSeconds] = {}

    @property
    def endpoints(self) -> Endpoints:
        """The endpoints and their statistics."""
        return self._rpc.endpoints

    def look_at_each(self) -> None:
        """Ask every endpoint, so that one that is lost is counted; where several have to agree each step does."""
        if self._quorum == 1:
            self._rpc.of_each([("eth_chainId", [])])

    def glimpse(self, fact: BlockNumber | None) -> Glimpse:
        calls = [header_call("latest")]
        asks_root = time.monotonic() >= self._proofs_from
        if asks_root:
            calls.append(("eth_getProof", [self._hub, [], "latest"]))
        if fact is not None:
            calls.append(header_call(fact))
        answers = self._rpc.batch(calls)
        root = self._root(answers[1]) if asks_root else None
        known = None if fact is None or answers[-1] is None else parse_header(answers[-1]).hash
        return Glimpse(parse_header(answers[0]), root, known)

    def _root(self, answer: object) -> Bytes32 | None:
        """Return the root of a proof; after a refusal none is requested for ten minutes."""
        if isinstance(answer, dict) and "storageHash" in answer:
            return hash_of(answer["storageHash"])
        self._proofs_from = time.monotonic() + _NO_PROOF_SECONDS
        return None

    def reached(self, newest: Header) -> BlockNumber:
        if self._quorum == 1:
            return newest.number
        return self._reached_by_quorum(header_call("latest"))

    def final(self) -> BlockNumber:
        if self._depth is None:
            return self._reached_by_quorum(header_call("finalized"))
        return BlockNumber(max(0, self._reached_by_quorum(header_call("latest")) - self._depth))

    def _reached_by_quorum(self, call: Call) -> BlockNumber:
        """Return the newest number that ``quorum`` endpoints have reached."""
        if self._quorum == 1:
            return parse_header(self._rpc.batch([call])[0]).number
        numbers = list[BlockNumber]()
        for (answer,) in self._rpc.of_each([call], least=self._quorum):
            if isinstance(answer, dict):
                numbers.append(block_number(answer.get("number")))
        if len(numbers) < self._quorum:
            raise ChainUnavailable(
                f"{len(numbers)} RPC endpoints show the chain's newest block, but {self._quorum} are needed"
            )
        return sorted(numbers, reverse=True)[self._quorum - 1]

    def header(self, number: BlockNumber) -> Header:
        return self._rpc.agreed(lambda one: self._headers(one, [number])[0], self._quorum)

    def logs(self, first: BlockNumber, last: BlockNumber) -> LogRange:
        def ask(one: OneEndpoint) -> LogRange:
            logs, end = logs_of_range(one, self._hub, None, first, last)
            hashes = {log.block_number: log.block_hash for log in logs}
            unknown = sorted({number for number, block in hashes.items() if block not in self._times} | {end})
            headers = {header.number: header for header in self._headers(one, unknown)}
            for number, block in hashes.items():
                if number in headers and headers[number].hash != block:
                    raise ChainUnavailable("an RPC endpoint returned logs and headers of different blocks")
            times = {
                number: headers[number].time if number in headers else self._times[block]
                for number, block in hashes.items()
            }
            return LogRange(tuple(logs), times, headers[end])

        found = self._rpc.agreed(ask, self._quorum)
        if len(self._times) > _MOST_TIMES:
            self._times.clear()
        self._times |= {log.block_hash: found.times[log.block_number] for log in found.logs}
        return found

    def _headers(self, one: OneEndpoint, numbers: Sequence[BlockNumber]) -> list[Header]:
        headers = [parse_header(answer) for answer in one.batch([header_call(number) for number in numbers])]
        if [header.number for header in headers] != list(numbers):
            raise ChainUnavailable("an RPC endpoint returned blocks other than the requested ones")
        return headers

    def open_bounties(self, ids: Sequence[BountyId], block: BlockNumber) -> list[Bytes32 | None]:
        def ask(one: OneEndpoint) -> list[Bytes32 | None]:
            asked = Hub(one, self._hub, block)
            answered = Hub(Answers.of(one, [asked.call("getBounty", number) for number in ids]), self._hub, block)
            views = [answered.bounty(number) for number in ids]
            return [view.spec_commitment if view is not None and view.outcome is None else None for view in views]

        return self._rpc.agreed(ask, self._quorum)

    def distrust(self) -> None:
        self._rpc.distrust()


def chain_of(config: IndexerConfig) -> RpcChain:
    """Return the chain as configured for this process."""
    chain = config.chain
    return RpcChain(chain.rpc(), chain.hub_address, config.rpc_quorum, chain.finality_depth)
