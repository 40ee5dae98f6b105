"""A deployed Hub with its people on a real node, and the index of it: what most parts' tests start from.

``Story`` is what a test tells: the verbs of a bounty. ``HubOnNode`` tells it to anvil, ``World`` with an index as well,
and ``tests.fakes.story.HubInMemory`` to a double without a process. Chain time moves only when a test says so;
``index`` runs the real follower until it has nothing left to do.
"""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, Self

import pytest
from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.events import decode_log, parse_log
from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.domain.lifecycle.hub_events import HubEvent
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, ChainId, UnixSeconds, bytes32, to_bytes
from demo.examples import EXAMPLES
from local_stack import anvil
from local_stack.accounts import People, make_people
from local_stack.anvil import AnvilServer
from local_stack.contract import Contract, Wallet
from local_stack.hub import LocalHub
from service_common.db.hub_facts import FactSource
from service_common.db.hub_reads import Head
from service_indexer.chain import FollowedChain, RpcChain
from service_indexer.follower import Follower
from service_indexer.writer import Writer
from sqlalchemy import Engine
from web3.types import TxReceipt

from tests.deployed import deploy_for
from tests.servers import Database
from tests.waiting import wait_until

ESCROW = 25_000_000


class ChainClock:
    """The chain's own time as the clock of a service; ``monotonic`` leaps, so that no cache outlives a request."""

    def __init__(self, rpc: Rpc) -> None:
        self._rpc = rpc
        self._ticks = 0.0

    def now(self) -> UnixSeconds:
        return header_at(self._rpc, "latest").time

    def monotonic(self) -> float:
        self._ticks += 10.0
        return self._ticks

    def sleep(self, seconds: float) -> None:
        raise AssertionError("no test waits")


class Story(Protocol):
    """A Hub, its people, and what they do. What the Hub refuses raises ``StackError`` with the name of its error."""

    people: People

    def time(self) -> UnixSeconds:
        """Return the newest block's time."""

    def tip(self) -> BlockNumber:
        """Return the newest block's number."""

    def advance_to(self, moment: int) -> None:
        """Mine a block at ``moment`` or as soon after it as there is one."""

    def finalize(self) -> None:
        """Mine so many blocks that all that happened is final."""

    def reorganize(self, depth: int) -> None:
        """Replace that many of the newest blocks by empty ones; what a verb did last is one block."""

    def fund(self, page: bytes | None = None, *, seconds: int = 1_000, judging: int = 1_000) -> BountyId:
        """Fund a bounty that accepts Submissions for ``seconds``; a page that nobody published unless one is given."""

    def submit(self, bounty_id: BountyId, solver: Wallet) -> Bytes32:
        """Record a Submission, and return its commitment."""

    def judge(self, bounty_id: BountyId, guardian: Wallet, winner: Wallet | None) -> None:
        """Record a Verdict: for what the winner submitted last, or that no Submission is valid."""

    def settle(self, bounty_id: BountyId) -> None:
        """End a bounty that nobody judged in time."""

    def claim(self, bounty_id: BountyId, claimant: Wallet) -> None:
        """Claim what the Hub owes to the Poster, a Guardian, or else a Solver."""

    def reveal_at(self, bounty_id: BountyId) -> int:
        """Return when Guardians may open the work."""

    def judging_deadline(self, bounty_id: BountyId) -> int:
        """Return when Guardians may judge no longer."""

    def events(self, bounty_id: BountyId) -> list[HubEvent]:
        """Return what the Hub logged of a bounty, in the order of the chain."""

    def solver(self, number: int = 1) -> Wallet:
        """Return a Solver's wallet, counted from 1."""

    def guardian(self, number: int = 1) -> Wallet:
        """Return a Guardian's wallet, counted from 1."""


@dataclass
class HubOnNode:
    """The story on a real node."""

    node: AnvilServer
    people: People
    delivery: Identity
    hub: LocalHub

    @property
    def rpc(self) -> Rpc:
        return self.node.rpc

    @property
    def chain_id(self) -> ChainId:
        return ChainId(self.node.chain_id)

    @property
    def hub_address(self) -> Address:
        return Address(self.hub.hub.address)

    @property
    def contract(self) -> Contract:
        return self.hub.hub

    def time(self) -> UnixSeconds:
        """Return the newest block's time."""
        return header_at(self.rpc, "latest").time

    def tip(self) -> BlockNumber:
        """Return the newest block's number."""
        return header_at(self.rpc, "latest").number

    def advance_to(self, moment: int) -> None:
        """Mine a block at ``moment``."""
        self.rpc.call("evm_setNextBlockTimestamp", moment)
        self.node.mine()

    def finalize(self) -> None:
        """Mine so many blocks that all that happened is final."""
        self.node.mine(3)

    def reorganize(self, depth: int) -> None:
        """Replace that many of the newest blocks by empty ones."""
        self.rpc.call("anvil_reorg", depth, [])

    def fund(
        self,
        page: bytes | None = None,
        *,
        seconds: int = 1_000,
        judging: int = 1_000,
        escrow: int = ESCROW,
        poster: Wallet | None = None,
    ) -> BountyId:
        """Fund a bounty by allowance; the page defaults to random bytes that nobody published."""
        commitment = spec_commitment(page) if page is not None else random_commitment()
        poster = poster or self.people.poster.wallet
        poster.forget_nonce()
        self.hub.token.transact(poster, "approve", self.hub_address, escrow)
        terms = (
            to_bytes(commitment),
            bytes.fromhex(self.hub.roster_hash[2:]),
            escrow,
            self.time() + seconds,
            judging,
            escrow,
            escrow,
            secrets.token_bytes(32),
        )
        receipt = self.contract.transact(poster, "createBounty", terms)
        created = bytes.fromhex(hub_abi().event("BountyCreated").topic[2:])
        return BountyId(
            next(int.from_bytes(log["topics"][1]) for log in receipt["logs"] if log["topics"][0] == created)
        )

    def submit(self, bounty_id: BountyId, solver: Wallet, commitment: Bytes32 | None = None) -> Bytes32:
        """Record a Submission, and return its commitment."""
        commitment = commitment or random_commitment()
        roster = bytes.fromhex(self.hub.roster_hash[2:])
        solver.forget_nonce()
        self.contract.transact(solver, "submit", bounty_id, to_bytes(commitment), roster)
        return commitment

    def judge(self, bounty_id: BountyId, guardian: Wallet, winner: Wallet | None) -> None:
        """Record a Verdict: for what the winner submitted last, or that no Submission is valid."""
        if winner is None:
            self.reject(bounty_id, guardian)
        else:
            self.award(
                bounty_id, guardian, winner, bytes32(self.contract.call("getSubmission", bounty_id, winner.address))
            )

    def award(self, bounty_id: BountyId, guardian: Wallet, solver: Wallet, commitment: Bytes32) -> TxReceipt:
        """Record an awarded Verdict."""
        arguments = (bounty_id, 1, solver.address, to_bytes(commitment), to_bytes(random_commitment()))
        guardian.forget_nonce()
        return self.contract.transact(guardian, "recordVerdict", *arguments)

    def reject(self, bounty_id: BountyId, guardian: Wallet) -> TxReceipt:
        """Record a no_valid_submission Verdict."""
        arguments = (bounty_id, 2, "0x" + "00" * 20, bytes(32), to_bytes(random_commitment()))
        guardian.forget_nonce()
        return self.contract.transact(guardian, "recordVerdict", *arguments)

    def decide(self, bounty_id: BountyId, solver: Wallet, commitment: Bytes32) -> None:
        """Have a quorum award a Submission at the reveal point."""
        self.advance_to(self.reveal_at(bounty_id))
        for number in (1, 2):
            self.award(bounty_id, self.guardian(number), solver, commitment)

    def settle(self, bounty_id: BountyId) -> None:
        """End a bounty that nobody judged in time."""
        anyone = self.people.owner.wallet
        anyone.forget_nonce()
        self.contract.transact(anyone, "settle", bounty_id)

    def claim(self, bounty_id: BountyId, claimant: Wallet) -> None:
        """Claim what the Hub owes to the Poster, a Guardian, or else a Solver."""
        claimant.forget_nonce()
        if claimant is self.people.poster.wallet:
            self.contract.transact(claimant, "claimRefund", bounty_id)
        elif claimant in [guardian.wallet for guardian in self.people.guardians]:
            self.contract.transact(claimant, "claimGuardianFee", bounty_id)
        else:
            self.contract.transact(claimant, "claim", bounty_id, b"", b"")

    def reveal_at(self, bounty_id: BountyId) -> int:
        return int(self.contract.call("getBounty", bounty_id)[4])

    def judging_deadline(self, bounty_id: BountyId) -> int:
        return int(self.contract.call("getBounty", bounty_id)[5])

    def events(self, bounty_id: BountyId) -> list[HubEvent]:
        """Return what the Hub logged of a bounty, in the order of the chain."""
        wanted = {"address": self.hub_address, "fromBlock": "0x0", "toBlock": "latest"}
        found = self.rpc.call("eth_getLogs", wanted)
        assert isinstance(found, list)
        events = [decode_log(parse_log(log)) for log in found]
        return [event for event in events if getattr(event, "bounty_id", None) == bounty_id]

    def solver(self, number: int = 1) -> Wallet:
        return self.people.solvers[number - 1].wallet

    def guardian(self, number: int = 1) -> Wallet:
        return self.people.guardians[number - 1].wallet


@dataclass
class World(HubOnNode):
    """The story on a real node, with its index in a database."""

    database: Database
    writer: Writer
    chain: RpcChain

    def engine(self, role: str) -> Engine:
        """The database as one service sees it."""
        return self.database.engine(role)

    def facts(self, role: str = "service_api") -> FactSource:
        """Facts as a service reads them, its clock the chain's."""
        return FactSource(self.engine(role), self.chain_id, self.hub_address, ChainClock(self.rpc))

    def finalize_at(self, moment: int) -> None:
        """Have the newest final block, and those on top of it, be at exactly ``moment``, all indexed.

        Blocks that ``finalize`` mines take their times from the clock: a second may pass before them.
        """
        for _ in range(3):
            self.advance_to(moment)
        self.index()

    def finalize(self) -> None:
        """Enough blocks that everything so far is final, all indexed."""
        self.node.mine(3)
        self.index()

    def index(self) -> None:
        """Run the follower until the copy is at the tip."""
        follower = self.follower(self.chain, self.writer)
        while follower.step():
            pass

    def follower(self, chain: FollowedChain, writer: Writer) -> Follower:
        """A follower of this Hub."""
        return Follower(chain, writer, BlockNumber(max(0, self.hub.deploy_block - 1)))

    def head(self) -> Head:
        """Where the copy is."""
        position = self.writer.position()
        if position is None:
            raise AssertionError("there is no copy")
        return position.head

    def announce_roster(self, members: list[tuple[Wallet, Bytes32]], quorum: int) -> None:
        """Have the owner publish a roster that is not in effect yet, finalized and indexed."""
        ordered = sorted(members, key=lambda member: member[0].address)
        accounts, keys = [wallet.address for wallet, _ in ordered], [to_bytes(key) for _, key in ordered]
        self.contract.transact(self.people.owner.wallet, "publishRoster", accounts, keys, quorum)
        self.finalize()

    def publish_roster(self, members: list[tuple[Wallet, Bytes32]], quorum: int) -> None:
        """Have bounties from now on pin these Guardians."""
        self.announce_roster(members, quorum)
        self.await_publication()
        self.finalize()

    def await_publication(self) -> None:
        """Let what the owner announced last take effect."""
        self.advance_to(self.time() + self.hub.terms.publication_delay)
        version = self.contract.call("currentRosterVersion")
        self.hub = replace(self.hub, roster_hash="0x" + self.contract.call("getRoster", version)[0].hex())


def _has_mined_all(rpc: Rpc) -> bool:
    status = rpc.call("txpool_status")
    return isinstance(status, dict) and status["pending"] == "0x0"


@dataclass(frozen=True, slots=True)
class Deployment:
    """A node with token, Hub and people, before anything happened."""

    node: AnvilServer
    people: People
    delivery: Identity
    hub: LocalHub

    @classmethod
    def on(cls, node: AnvilServer) -> Self:
        """Deploy everything."""
        people, delivery = make_people(solvers=3, guardians=3), Identity.generate()
        return cls(node, people, delivery, deploy_for(node, people, delivery))

    @contextmanager
    def put_back(self) -> Iterator[None]:
        """Have the chain afterwards as it is now, at this machine's time.

        What was sent is mined first: going back beside a block that is being made leaves a number that has no block.
        """
        rpc = self.node.rpc
        snapshot = rpc.call("evm_snapshot")
        yield
        rpc.call("evm_setAutomine", True)
        self.node.mine()
        with suppress(AssertionError):  # what cannot be mined stays
            wait_until(partial(_has_mined_all, rpc), 1.0)
        rpc.call("anvil_dropAllTransactions")
        assert rpc.call("evm_revert", snapshot)
        rpc.call("evm_setTime", int(time.time()))
        for person in self.people.everyone():
            person.wallet.forget_nonce()

    def world(self, database: Database) -> World:
        """The deployment with its index."""
        address = Address(self.hub.hub.address)
        writer = Writer(database.engine("service_indexer"), ChainId(self.node.chain_id), address)
        chain = RpcChain(Rpc([self.node.url]), address)
        world = World(self.node, self.people, self.delivery, self.hub, database, writer, chain)
        world.finalize()
        return world


@contextmanager
def make_world(node: AnvilServer, database: Database) -> Iterator[World]:
    """Deploy everything and index it."""
    yield Deployment.on(node).world(database)


@pytest.fixture(scope="session")
def deployment() -> Iterator[Deployment]:
    with anvil.start(mining="automine") as node:
        yield Deployment.on(node)


@pytest.fixture
def world(deployment: Deployment, database: Database) -> Iterator[World]:
    with deployment.put_back():
        yield deployment.world(database)


def random_commitment() -> Bytes32:
    """A commitment nobody knows the bytes of."""
    return bytes32(keccak256(secrets.token_bytes(32)))


def example_page() -> bytes:
    """The example challenge page as it stands in the repository."""
    return (EXAMPLES / "bounty_challenge.md").read_bytes()
