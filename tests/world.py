"""A deployed Hub with its people on a real node, and the index beside it: what most parts' tests start from.

Chain time moves only when a test says so; ``index`` runs the real follower until it has nothing left to do.
"""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

import pytest
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.challenge.commitments import spec_commitment
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


@dataclass
class World:
    """One chain, one Hub, one database."""

    node: AnvilServer
    database: Database
    people: People
    delivery: Identity
    hub: LocalHub
    writer: Writer
    rpc: Rpc
    chain: RpcChain
    open_bounties: list[BountyId] = field(default_factory=list)

    @property
    def chain_id(self) -> ChainId:
        return ChainId(self.node.chain_id)

    @property
    def hub_address(self) -> Address:
        return Address(self.hub.hub.address)

    @property
    def contract(self) -> Contract:
        return self.hub.hub

    def engine(self, role: str) -> Engine:
        """The database as one service sees it."""
        return self.database.engine(role)

    def facts(self, role: str = "service_api") -> FactSource:
        """Facts as a service reads them, its clock the chain's."""
        return FactSource(self.engine(role), self.chain_id, self.hub_address, ChainClock(self.rpc))

    def time(self) -> UnixSeconds:
        """The newest block's time."""
        return header_at(self.rpc, "latest").time

    def advance_to(self, moment: int) -> None:
        """Mine a block at ``moment``."""
        self.rpc.call("evm_setNextBlockTimestamp", moment)
        self.node.mine()

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

    def tip(self) -> BlockNumber:
        """The newest block."""
        return header_at(self.rpc, "latest").number

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

    def create(
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
        self.contract.transact(poster, "createBounty", terms)
        count = len(self.open_bounties) + 1
        self.open_bounties.append(BountyId(count))
        return BountyId(count)

    def submit(self, bounty_id: BountyId, solver: Wallet, commitment: Bytes32 | None = None) -> Bytes32:
        """Record a Submission."""
        commitment = commitment or random_commitment()
        roster = bytes.fromhex(self.hub.roster_hash[2:])
        self.contract.transact(solver, "submit", bounty_id, to_bytes(commitment), roster)
        return commitment

    def award(self, bounty_id: BountyId, guardian: Wallet, solver: Wallet, commitment: Bytes32) -> TxReceipt:
        """Record an awarded Verdict."""
        arguments = (bounty_id, 1, solver.address, to_bytes(commitment), to_bytes(random_commitment()))
        return self.contract.transact(guardian, "recordVerdict", *arguments)

    def decide(self, bounty_id: BountyId, solver: Wallet, commitment: Bytes32) -> None:
        """Have a quorum award a Submission at the reveal point."""
        self.advance_to(self.reveal_at(bounty_id))
        for number in (1, 2):
            self.award(bounty_id, self.guardian(number), solver, commitment)

    def reject(self, bounty_id: BountyId, guardian: Wallet) -> TxReceipt:
        """Record a no_valid_submission Verdict."""
        arguments = (bounty_id, 2, "0x" + "00" * 20, bytes(32), to_bytes(random_commitment()))
        return self.contract.transact(guardian, "recordVerdict", *arguments)

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

    def reveal_at(self, bounty_id: BountyId) -> int:
        return int(self.contract.call("getBounty", bounty_id)[4])

    def judging_deadline(self, bounty_id: BountyId) -> int:
        return int(self.contract.call("getBounty", bounty_id)[5])

    def solver(self, number: int = 1) -> Wallet:
        return self.people.solvers[number - 1].wallet

    def guardian(self, number: int = 1) -> Wallet:
        return self.people.guardians[number - 1].wallet


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
        rpc, address = Rpc([self.node.url]), Address(self.hub.hub.address)
        writer = Writer(database.engine("service_indexer"), ChainId(self.node.chain_id), address)
        chain = RpcChain(rpc, address)
        world = World(self.node, database, self.people, self.delivery, self.hub, writer, rpc, chain)
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
