"""A chain in memory, as the follower's source sees one: fast enough for thousands of reorgs.

Its contract test runs against a real node, too (``tests/indexer/test_source_contract.py``).
"""

import random
from dataclasses import dataclass, field
from typing import ClassVar

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.events import Log
from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, BlockNumber, Bytes32, UnixSeconds, bytes32
from eth_abi.abi import encode
from service_indexer.source import RangeLogs, Tip

HUB = Address("0x" + "ab" * 20)
GENESIS = 1_700_000_000


def word(*parts: object) -> Bytes32:
    """A 32-byte value of its own for these parts."""
    return bytes32(keccak256(repr(parts).encode()))


def account(number: int) -> Address:
    """A distinct account."""
    return Address("0x" + f"{number:040x}")


@dataclass
class FakeChain:
    """Blocks from genesis on; the finalized one never changes."""

    proofs: ClassVar[None] = None
    """Its hashes are of nothing, and it has no storage."""

    finality_depth: int = 64
    headers_: list[Header] = field(default_factory=list)
    logs_: dict[Bytes32, list[Log]] = field(default_factory=dict)
    final: int = 0
    """The finalized block's number; it only rises, also when the chain gets shorter."""
    _salt: int = 0

    def __post_init__(self) -> None:
        self.mine([])

    def mine(self, events: "list[tuple[str, dict[str, object]]]") -> Header:
        """Add a block with these events of the Hub, by name and fields."""
        self._salt += 1
        number = BlockNumber(len(self.headers_))
        parent = self.headers_[-1].hash if self.headers_ else Bytes32("0x" + "00" * 32)
        bloom = b"\xff" * 256 if events else bytes(256)
        header = Header(number, word("block", self._salt), parent, UnixSeconds(GENESIS + number), bloom)
        self.headers_.append(header)
        self.final = max(self.final, number - self.finality_depth)
        self.logs_[header.hash] = [self._log(header, index, *event) for index, event in enumerate(events)]
        return header

    def reorg(self, depth: int) -> None:
        """Drop the newest ``depth`` blocks; above finality only."""
        if depth > self.reversible:
            raise ValueError("below finality")
        for header in self.headers_[len(self.headers_) - depth :]:
            del self.logs_[header.hash]
        del self.headers_[len(self.headers_) - depth :]

    @property
    def reversible(self) -> int:
        """How many blocks may still be dropped."""
        return len(self.headers_) - 1 - self.final

    def tip(self) -> Tip:
        return Tip(self.headers_[-1], self.headers_[self.final])

    def headers(self, first: BlockNumber, last: BlockNumber) -> list[Header]:
        if last >= len(self.headers_):
            raise ChainUnavailable("no such block")
        return self.headers_[first : last + 1]

    def headers_from(self, first: BlockNumber, last: BlockNumber) -> list[Header]:
        return self.headers(first, min(last, BlockNumber(len(self.headers_) - 1))) or self.headers(first, last)

    def logs_of_range(self, first: BlockNumber, last: BlockNumber) -> RangeLogs:
        return RangeLogs([log for h in self.headers(first, last) for log in self.logs_[h.hash]], last)

    def logs_of_block(self, header: Header) -> list[Log]:
        if header.hash not in self.logs_:
            raise ChainUnavailable("no such block")
        return list(self.logs_[header.hash])

    def _log(self, header: Header, index: int, name: str, fields: dict[str, object]) -> Log:
        event = next(event for event in hub_abi().events.values() if event.name == name)
        values = {parameter.name: _raw(fields[parameter.name]) for parameter in event.inputs}
        indexed = [parameter for parameter in event.inputs if parameter.indexed]
        plain = [parameter for parameter in event.inputs if not parameter.indexed]
        topics = [Bytes32("0x" + encode([p.type], [values[p.name]]).hex()) for p in indexed]
        data = encode([p.type for p in plain], [values[p.name] for p in plain])
        return Log(HUB, header.number, header.hash, index, word("tx", header.hash, index), (event.topic, *topics), data)


def _raw(value: object) -> object:
    return bytes.fromhex(value[2:]) if isinstance(value, str) and len(value) == 66 else value


def bounty_created(bounty_id: int, salt: int) -> tuple[str, dict[str, object]]:
    """A bounty whose Poster and page depend on ``salt``."""
    return "BountyCreated", {
        "bountyId": bounty_id,
        "poster": account(1_000 + salt),
        "specCommitment": word("spec", salt),
        "guardianRosterHash": word("roster"),
        "rosterVersion": 1,
        "escrowAmount": 10_000 + salt,
        "submissionDeadline": GENESIS + 10_000,
        "revealAt": GENESIS + 10_060,
        "judgingDeadline": GENESIS + 20_000,
        "protocolFee": 100,
        "guardianFee": 300,
        "protocolFeeRecipient": account(7),
        "authorizationNonce": word("nonce", salt),
    }


def submission_recorded(bounty_id: int, solver: int, salt: int) -> tuple[str, dict[str, object]]:
    """A Submission."""
    return "SubmissionRecorded", {
        "bountyId": bounty_id,
        "solver": account(solver),
        "submissionCommitment": word("submission", salt),
    }


@dataclass
class Storm:
    """Random life of a chain: blocks, Submissions, bounties that come, go and come again otherwise."""

    chain: FakeChain
    dice: random.Random
    salt: int = 0

    def grow(self) -> None:
        """One to three blocks."""
        for _ in range(self.dice.randint(1, 3)):
            self.salt += 1
            known = self._bounties()
            events = [] if known else [bounty_created(1, self.salt)]
            if known and self.dice.random() < 0.2:
                events.append(bounty_created(known + 1, self.salt))
            for _ in range(self.dice.randint(0, 3) if known else 0):
                self.salt += 1
                events.append(submission_recorded(self.dice.randint(1, known), self.dice.randint(1, 4), self.salt))
            self.chain.mine(events)

    def strike(self) -> int:
        """A reorg of random depth, shallow more often than deep; how deep."""
        depth = min(self.chain.reversible, 1 + int(self.dice.expovariate(0.25)))
        if depth > 0:
            self.chain.reorg(depth)
        return max(0, depth)

    def _bounties(self) -> int:
        topic = next(event.topic for event in hub_abi().events.values() if event.name == "BountyCreated")
        return sum(log.topics[0] == topic for logs in self.chain.logs_.values() for log in logs)
