"""A chain of the past with a Hub and its people, and a beacon that has long spoken: nothing here waits.

The chain's clock started long ago, so that every reveal point of a test lies behind the beacon's newest round; chain
time moves only when a test says so (and with each block).
"""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from beacon import LocalBeacon, make_local_beacon
from beacon.server import BeaconServer
from bounty_protocol.chain.rpc import quantity
from bounty_protocol.clock import SystemClock
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Bytes32, bytes32, to_bytes
from local_stack.accounts import People, make_people
from local_stack.anvil import AnvilServer
from local_stack.contract import Contract, Wallet
from local_stack.hub import LocalHub

from tests.deployed import TERMS, deploy_for
from tests.serving import serving

ESCROW = 25_000_000
LONG_AGO = 30 * 86_400


@dataclass
class Ledger:
    """One chain, one Hub."""

    node: AnvilServer
    people: People
    delivery: Identity
    hub: LocalHub
    beacon: LocalBeacon
    beacon_url: str
    _count: list[int] = field(default_factory=list)

    @property
    def contract(self) -> Contract:
        return self.hub.hub

    @property
    def token(self) -> Contract:
        return self.hub.token

    def time(self) -> int:
        return self.node.w3.eth.get_block("latest")["timestamp"]

    def advance_to(self, moment: int) -> None:
        """Mine a block at ``moment``, and enough that it is finalized."""
        self.node.rpc.call("evm_setNextBlockTimestamp", moment)
        self.node.mine(3)

    def await_publication(self) -> None:
        """Let what the owner announced last take effect."""
        self.advance_to(self.time() + TERMS.publication_delay)

    def page(self, *, seconds: int = 2_000, judging: int = 1_000, escrow: int = ESCROW) -> bytes:
        """A challenge page that is fit to be funded now, different each time."""
        return (
            f"---\nversion: 1\ntitle: Work {secrets.token_hex(4)}\nsummary: Something to be done.\n"
            f"escrow_amount: {escrow}\nsubmission_deadline: {self.time() + seconds}\n"
            f"judging_window_seconds: {judging}\nacceptance_criteria:\n  - It prints 1.\n"
            "deliverables:\n  - main.py\n---\n# What is asked\n\nA program.\n\n"
            "It is one file that runs under every supported Python without a package beside it, reads nothing,\n"
            "prints the number one and a newline on standard output, and ends with exit code zero.\n"
        ).encode()

    def fund(self, page: bytes | None = None, *, seconds: int = 2_000, judging: int = 1_000) -> tuple[int, bytes]:
        """A funded bounty, by allowance: its id and page."""
        if page is None:
            self.node.mine(1)  # the newest block may be as old as the last test of this chain
            page = self.page(seconds=seconds, judging=judging)
        deadline = int(page.split(b"submission_deadline: ")[1].split(b"\n")[0])
        poster = self.people.poster.wallet
        poster.forget_nonce()
        self.token.transact(poster, "approve", self.contract.address, ESCROW)
        terms = (
            to_bytes(spec_commitment(page)),
            bytes.fromhex(self.hub.roster_hash[2:]),
            ESCROW,
            deadline,
            judging,
            ESCROW,
            ESCROW,
            secrets.token_bytes(32),
        )
        self.contract.transact(poster, "createBounty", terms)
        return self.bounty_count(), page

    def bounty_count(self) -> int:
        """The newest bounty's id."""
        logs = self.logs("BountyCreated")
        return len(logs)

    def logs(self, event: str) -> list[object]:
        """All logs of one of the Hub's events."""
        from bounty_protocol.chain.abi import hub_abi

        topic = hub_abi().event(event).topic
        wanted = {"address": self.contract.address, "fromBlock": "0x0", "toBlock": "latest", "topics": [topic]}
        found = self.node.rpc.call("eth_getLogs", wanted)
        assert isinstance(found, list)
        return found

    def submit(self, bounty_id: int, solver: Wallet, commitment: Bytes32 | None = None) -> Bytes32:
        """Record a Submission."""
        commitment = commitment or bytes32(keccak256(secrets.token_bytes(32)))
        roster = bytes.fromhex(self.hub.roster_hash[2:])
        solver.forget_nonce()
        self.contract.transact(solver, "submit", bounty_id, to_bytes(commitment), roster)
        return commitment

    def submission(self, bounty_id: int, solver: str) -> Bytes32:
        """The commitment that the Hub records of a Solver."""
        return bytes32(self.contract.call("getSubmission", bounty_id, solver))

    def recorded(self, bounty: int | str) -> Bytes32:
        """The same of the first Solver."""
        return self.submission(int(bounty), self.people.solvers[0].address)

    def ended_in_silence(self) -> int:
        """A bounty that ended without a Submission, and so without a winner; its end is finalized."""
        bounty, _ = self.fund(seconds=100)
        self.advance_to(int(self.contract.call("getBounty", bounty)[5]))
        anyone = self.people.owner.wallet
        anyone.forget_nonce()
        self.contract.transact(anyone, "settle", bounty)
        self.node.mine(3)
        return bounty

    def awarded(self, solver: Wallet) -> int:
        """A bounty of its own that this Solver won."""
        bounty, _ = self.fund(seconds=100)
        commitment = self.submit(bounty, solver)
        self.reveal(bounty)
        self.award(bounty, solver.address, commitment)
        return bounty

    def award(self, bounty_id: int, solver: str, commitment: str) -> None:
        """Two of three Guardians award it, and the chain finalizes that."""
        for guardian in self.people.guardians[:2]:
            guardian.wallet.forget_nonce()
            report = secrets.token_bytes(32)
            arguments = (bounty_id, 1, solver, bytes.fromhex(commitment[2:]), report)
            self.contract.transact(guardian.wallet, "recordVerdict", *arguments)
        self.node.mine(2)

    def reveal(self, bounty_id: int) -> None:
        """Move to the reveal point."""
        self.advance_to(int(self.contract.call("getBounty", bounty_id)[4]))

    def nonce(self, account: str) -> int:
        """How many transactions of an account are mined."""
        return quantity(self.node.rpc.call("eth_getTransactionCount", account, "latest"))

    def variables(self) -> dict[str, str]:
        """The client's environment, but for the API and the subgraph."""
        return {
            "SERVICE_CHAIN_ID": str(self.node.chain_id),
            "SERVICE_HUB_ADDRESS": self.contract.address,
            "SERVICE_ESCROW_TOKEN_ADDRESS": self.token.address,
            "SERVICE_RPC_URL": self.node.url,
            "SERVICE_LOCAL_TIME": "moved",
            "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS": str(TERMS.reveal_delay),
            "SERVICE_BEACON_URLS": self.beacon_url,
            "SERVICE_BEACON_CHAIN_HASH": self.beacon.info.chain_hash,
            "SERVICE_BEACON_PUBLIC_KEY": self.beacon.info.public_key,
        }


@contextmanager
def make_ledger(node: AnvilServer) -> Iterator[Ledger]:
    """Deploy everything."""
    people, delivery = make_people(solvers=2, guardians=3), Identity.generate()
    hub = deploy_for(node, people, delivery)
    genesis = int(time.time()) - 2 * LONG_AGO
    chain = make_local_beacon(secrets.token_bytes(16), genesis_time=genesis, period_seconds=3)
    server = BeaconServer(("127.0.0.1", 0), chain, SystemClock())
    with serving(server):
        yield Ledger(node, people, delivery, hub, chain, server.url)
