"""Bounties on a local node, each call a transaction of its own: what the gas tests play, for what needs a node.

A roster of three, quorum three, every Guardian seen before, recipients that hold the token already, one bounty before.
"""

import itertools
from dataclasses import dataclass, field
from typing import Final

from bounty_protocol.crypto.x25519 import Identity
from hexbytes import HexBytes
from local_stack.anvil import AnvilServer
from local_stack.contract import Contract, Wallet
from local_stack.hub import LocalHub, LocalHubTerms, RosterEntry, deploy_hub
from local_stack.token import TOKEN
from service_indexer.web3_provider import Web3

from tests.contracts.signing import authorization

LOWER_V: Final = 27
MAX: Final = 2**256 - 1
WORK: Final = b"\7" * 32
OTHER_WORK: Final = b"\6" * 32
REPORT: Final = b"\2" * 32


@dataclass(frozen=True)
class Life:
    """A Hub, its people, and the transactions that were measured, by name."""

    node: AnvilServer
    local: LocalHub
    poster: Wallet
    solver: Wallet
    rival: Wallet
    guardians: list[Wallet]
    done: dict[str, HexBytes] = field(default_factory=dict)

    def measure(self, name: str, contract: Contract, wallet: Wallet, function: str, *arguments: object) -> None:
        self.done[name] = contract.transact(wallet, function, *arguments)["transactionHash"]

    def cost(self, name: str) -> int:
        """What the call took without what its call data costs."""
        transaction = self.node.w3.eth.get_transaction(self.done[name])
        used = self.node.w3.eth.get_transaction_receipt(self.done[name])["gasUsed"]
        return int(used) - sum(16 if byte else 4 for byte in bytes(transaction["input"]))

    def now(self) -> int:
        return int(self.node.w3.eth.get_block("latest")["timestamp"])

    def wait_until(self, moment: int) -> None:
        self.node.rpc.call("evm_setNextBlockTimestamp", moment)
        self.node.mine(1)

    @property
    def roster(self) -> bytes:
        return bytes.fromhex(self.local.roster_hash[2:])

    def award(self, name: str, judge: Wallet, bounty: int) -> None:
        self.measure(name, self.local.hub, judge, "recordVerdict", bounty, 1, self.solver.address, WORK, REPORT)

    def terms(self, salt: int) -> tuple[object, ...]:
        return (b"\1" * 32, self.roster, TOKEN, self.now() + 900, 900, MAX, MAX, salt.to_bytes(32, "big"))


def new_life(node: AnvilServer) -> Life:
    """A Hub on USDC, and its people."""
    poster, solver, rival, treasury = (Wallet() for _ in range(4))
    judges = sorted((Wallet() for _ in range(3)), key=lambda wallet: int(wallet.address, 16))
    local = deploy_hub(
        node,
        owner=Wallet(),
        fee_recipient=treasury,
        guardians=[RosterEntry(judge, Identity.generate().public_key) for judge in judges],
        quorum=3,
        holders=[poster, solver, rival, treasury, *judges],
        terms=LocalHubTerms(),
    )
    life = Life(node, local, poster, solver, rival, judges)
    local.token.transact(poster, "transfer", local.hub.address, 1)
    for judge in judges:
        local.hub.transact(judge, "heartbeat")
    return life


def play(life: Life) -> None:
    """Each call that people make, measured once where it is the usual one."""
    hub, token, poster, solver = life.local.hub, life.local.token, life.poster, life.solver
    first, second, third = life.guardians
    life.measure("transfer", token, poster, "transfer", solver.address, 1)
    life.measure("approve", token, poster, "approve", hub.address, MAX)
    hub.transact(poster, "createBounty", life.terms(1))
    life.measure("createBounty", hub, poster, "createBounty", life.terms(2))
    life.measure("createBountyWithAuthorization", hub, poster, "createBountyWithAuthorization", *_authorized(life))
    hub.transact(solver, "submit", 2, WORK, life.roster)
    life.measure("submit", hub, solver, "submit", 3, WORK, life.roster)
    life.measure("second submit", hub, life.rival, "submit", 3, OTHER_WORK, life.roster)
    life.wait_until(hub.call("getBounty", 3)[4] + 1)
    for name, judge in (("recordVerdict", first), ("second recordVerdict", second), ("deciding recordVerdict", third)):
        life.award(name, judge, 3)
    hub.transact(first, "recordVerdict", 2, 1, solver.address, WORK, REPORT)
    life.measure("claim", hub, solver, "claim", 3, b"", b"")
    life.measure("claimProtocolFee", hub, life.local.fee_recipient, "claimProtocolFee", 3)
    life.wait_until(hub.call("getBounty", 2)[5] + 1)
    life.measure("settle", hub, life.rival, "settle", 2)
    life.measure("claimRefund", hub, poster, "claimRefund", 2)
    life.measure("claimGuardianFee", hub, first, "claimGuardianFee", 2)


def _authorized(life: Life) -> tuple[object, ...]:
    """The arguments of a creation whose signature ends with 27: one with 28 takes three gas more to check."""
    hub, poster, valid = life.local.hub, life.poster, (0, life.now() + 900)
    for salt in itertools.count(3):
        terms = life.terms(salt)
        signature = authorization(
            bytes.fromhex(poster.private_key[2:]),
            token=life.local.token.address,
            chain_id=life.node.chain_id,
            to=hub.address,
            amount=TOKEN,
            valid=valid,
            nonce=hub.call("authorizationNonce", terms, Web3.to_checksum_address(poster.address)),
        )
        if signature[64] == LOWER_V:
            return terms, poster.address, *valid, signature
    raise AssertionError
