"""What the Hub's calls take with USDC's own compiled code and with the local token: the table of docs/test-token.md.

Each call is a transaction of its own on the project's node; what its call data costs is left out, since addresses and
signatures are drawn anew for each token.
"""

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from local_stack import anvil
from local_stack.anvil import AnvilServer
from local_stack.contract import Contract, Wallet
from local_stack.hub import Guardian, HubTerms, LocalHub, deploy_hub
from local_stack.token import TOKEN, TokenCode
from service_common.crypto.x25519 import Identity
from service_common.types import Address
from service_common.web3_provider import Web3
from web3.types import TxReceipt

from tests.contracts.signing import authorization
from tests.usdc.code import usdc_on

TOP: Final = Path(__file__).resolve().parents[2]
PAGE: Final = TOP / "docs/test-token.md"
SNAPSHOT: Final = TOP / "contracts/snapshots/hub.gas.json"
MOST: Final = 450
"""The most gas by which a call of the Hub may differ."""
LOWER_V: Final = 27
LAST_WORD: Final = 18
OWN_WORD: Final = 15
"""Has the token's address in it."""


@dataclass(frozen=True)
class Life:
    """A Hub, its people, and what each call took."""

    node: AnvilServer
    local: LocalHub
    poster: Wallet
    solver: Wallet
    guardians: list[Wallet]
    costs: dict[str, int]

    def measure(self, name: str, contract: Contract, wallet: Wallet, function: str, *arguments: object) -> TxReceipt:
        receipt = contract.transact(wallet, function, *arguments)
        data = bytes(self.node.w3.eth.get_transaction(receipt["transactionHash"])["input"])
        self.costs[name] = int(receipt["gasUsed"]) - sum(16 if byte else 4 for byte in data)
        return receipt

    def now(self) -> int:
        return int(self.node.w3.eth.get_block("latest")["timestamp"])

    def wait_until(self, moment: int) -> None:
        self.node.rpc.call("evm_setNextBlockTimestamp", moment)
        self.node.mine(1)

    def terms(self, salt: int) -> tuple[object, ...]:
        roster = bytes.fromhex(self.local.roster_hash[2:])
        return (b"\1" * 32, roster, TOKEN, self.now() + 900, 900, TOKEN, TOKEN, salt.to_bytes(32, "big"))


def new_life(node: AnvilServer, code: TokenCode | None) -> Life:
    poster, solver, owner, treasury = (Wallet() for _ in range(4))
    judges = sorted((Wallet() for _ in range(3)), key=lambda wallet: int(wallet.address, 16))
    local = deploy_hub(
        node,
        owner=owner,
        fee_recipient=treasury,
        guardians=[Guardian(judge, Identity.generate().public_key) for judge in judges],
        quorum=3,
        holders=[poster, solver, treasury, *judges],
        terms=HubTerms(),
        token_code=code,
    )
    return Life(node, local, poster, solver, judges, {})


def play(life: Life) -> None:
    hub, token, poster, solver = life.local.hub, life.local.token, life.poster, life.solver
    life.measure("transfer", token, poster, "transfer", solver.address, 1)
    token.transact(poster, "transfer", hub.address, 1)
    life.measure("approve", token, poster, "approve", hub.address, 2 * TOKEN)
    hub.transact(poster, "createBounty", life.terms(1))
    life.measure("createBounty", hub, poster, "createBounty", life.terms(2))
    life.measure("createBountyWithAuthorization", hub, poster, "createBountyWithAuthorization", *_authorized(life))
    work, roster = b"\7" * 32, bytes.fromhex(life.local.roster_hash[2:])
    for bounty in (2, 3):
        hub.transact(solver, "submit", bounty, work, roster)
    life.wait_until(hub.call("getBounty", 3)[4] + 1)
    for judge in life.guardians:
        hub.transact(judge, "recordVerdict", 3, 1, solver.address, work, b"\2" * 32)
    life.measure("claim", hub, solver, "claim", 3, b"", b"")
    life.measure("claimGuardianFee", hub, life.guardians[0], "claimGuardianFee", 3)
    life.measure("claimProtocolFee", hub, life.local.fee_recipient, "claimProtocolFee", 3)
    life.wait_until(hub.call("getBounty", 2)[5] + 1)
    hub.transact(solver, "settle", 2)
    life.measure("claimRefund", hub, poster, "claimRefund", 2)


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


@pytest.fixture(scope="module")
def lives() -> Iterator[tuple[Life, Life]]:
    """One with USDC's code, one with the local token."""
    with anvil.start(mining="automine") as node:
        payer = Wallet()
        node.fund(payer.address)
        both = new_life(node, usdc_on(node.w3, payer)), new_life(node, None)
        for life in both:
            play(life)
        yield both


def test_costs__with_the_local_token__are_those_of_usdc_but_for_little(lives: tuple[Life, Life]) -> None:
    usdc, local = (life.costs for life in lives)
    assert {name: gas - usdc[name] for name, gas in local.items() if abs(gas - usdc[name]) > MOST} == {}


def test_page__shows_the_measured_differences(lives: tuple[Life, Life]) -> None:
    usdc, local = (life.costs for life in lives)
    rows = re.findall(r"^\| `(\w+)` \| ([+-]?\d+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {name: int(gas) for name, gas in rows} == {name: gas - usdc[name] for name, gas in local.items()}


@pytest.mark.parametrize(
    ("call", "figure"), [("createBountyWithAuthorization", "create_with_authorization"), ("claim", "claim")]
)
def test_page__says_what_usdc_would_take(lives: tuple[Life, Life], call: str, figure: str) -> None:
    usdc, local = (life.costs for life in lives)
    snapshot = int(json.loads(SNAPSHOT.read_text(encoding="utf-8"))[f"hub.gas.{figure}"])
    page = PAGE.read_text(encoding="utf-8").rpartition("So on USDC")[2]
    assert {f"{snapshot:,}", f"{snapshot + usdc[call] - local[call]:,}"} <= set(re.findall(r"[\d,]*\d", page))


def test_storage__word_by_word__is_that_of_usdc(lives: tuple[Life, Life]) -> None:
    usdc, local = (_words(life) for life in lives)
    assert usdc == local


def _words(life: Life) -> Mapping[int, str]:
    token = Address(life.local.token.address)
    words = {
        slot: str(life.node.rpc.call("eth_getStorageAt", token, hex(slot), "latest")) for slot in range(LAST_WORD + 2)
    }
    owner = life.local.owner.address[2:]
    return {slot: word.replace(owner, "") for slot, word in words.items() if slot != OWN_WORD}
