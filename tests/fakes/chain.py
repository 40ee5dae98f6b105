"""A chain in memory, as the follower sees one: fast enough for thousands of reorgs.

Its contract test runs against a real node, too (``tests/indexer/test_chain.py``).
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.events import Log, decode_log
from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.domain.lifecycle.hub_events import BountyCreated, BountyFinalized
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, UnixSeconds, bytes32
from eth_abi.abi import encode
from service_indexer.chain import Glimpse, LogRange

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

    finality_depth: int = 64
    blocks_per_second: int = 1
    proves: bool = True
    """Whether storage roots are shown."""
    headers_: list[Header] = field(default_factory=list)
    logs_: dict[Bytes32, list[Log]] = field(default_factory=dict)
    final_: int = 0
    """The finalized block's number; it only rises, also when the chain gets shorter."""
    most_logs: int = 2_000
    """Of one answer: the range ends with a whole block before there are more."""
    distrusted: int = 0
    asked: list[tuple[int, int]] = field(default_factory=list)
    """The ranges whose logs were read."""
    _salt: int = 0

    def __post_init__(self) -> None:
        self.mine([])

    def mine(self, events: "list[tuple[str, dict[str, object]]]") -> Header:
        """Add a block with these events of the Hub, by name and fields."""
        self._salt += 1
        number = BlockNumber(len(self.headers_))
        parent = self.headers_[-1].hash if self.headers_ else Bytes32("0x" + "00" * 32)
        time = UnixSeconds(GENESIS + number // self.blocks_per_second)
        header = Header(number, word("block", self._salt), parent, time)
        self.headers_.append(header)
        self.final_ = max(self.final_, number - self.finality_depth)
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
        return len(self.headers_) - 1 - self.final_

    def glimpse(self, fact: BlockNumber | None) -> Glimpse:
        known = self.headers_[fact].hash if fact is not None and fact < len(self.headers_) else None
        return Glimpse(self.headers_[-1], self.root() if self.proves else None, known)

    def root(self) -> Bytes32:
        """The Hub's storage root: a log that says again what an earlier one said leaves it as it was."""
        said = {(log.topics, log.data) for logs in self.logs_.values() for log in logs}
        return word("root", sorted(said))

    def reached(self, newest: Header) -> BlockNumber:
        return newest.number

    def final(self) -> BlockNumber:
        return BlockNumber(self.final_)

    def header(self, number: BlockNumber) -> Header:
        if number >= len(self.headers_):
            raise ChainUnavailable("no such block")
        return self.headers_[number]

    def logs(self, first: BlockNumber, last: BlockNumber) -> LogRange:
        self.asked.append((first, last))
        found, end = list[Log](), self.header(last)
        for header in self.headers_[first : last + 1]:
            found += self.logs_[header.hash]
            if len(found) >= self.most_logs:
                end = header
                break
        return LogRange(tuple(found), {log.block_number: self.headers_[log.block_number].time for log in found}, end)

    def open_bounties(self, ids: Sequence[BountyId], block: BlockNumber) -> list[Bytes32 | None]:
        pages = dict[int, Bytes32]()
        for header in self.headers_[: block + 1]:
            for log in self.logs_[header.hash]:
                event = decode_log(log)
                if isinstance(event, BountyCreated):
                    pages[event.bounty_id] = event.spec_commitment
                elif isinstance(event, BountyFinalized):
                    del pages[event.bounty_id]
        return [pages.get(each) for each in ids]

    def distrust(self) -> None:
        self.distrusted += 1

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


def heartbeat(guardian: int) -> tuple[str, dict[str, object]]:
    """A sign of life."""
    return "GuardianHeartbeat", {"guardian": account(guardian)}


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
