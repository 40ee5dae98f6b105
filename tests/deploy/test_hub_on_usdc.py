"""The rehearsal of a deployment: the operator's commands put a Hub on Circle's compiled USDC, and a bounty is paid."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pytest
from bounty_protocol.crypto.x25519 import Identity
from hub_operations.deploy import ARTIFACT
from local_stack import anvil
from local_stack.anvil import AnvilServer
from local_stack.contract import Artifact, Contract, Wallet, deploy, read_artifact, wait_for
from local_stack.token import TOKEN, Issuer, usdc_code
from service_indexer.web3_provider import Web3

from tests.contracts.signing import authorization
from tests.deploy.test_hub_operations import deployment_arguments, operate

MAX: Final = 2**128


@dataclass(frozen=True)
class Rehearsal:
    """A chain with a token of its issuer."""

    node: AnvilServer
    token: Contract
    issuer: Issuer
    operator: Wallet
    """The key of the commands."""
    payer: Wallet
    """Pays for everything else."""

    def funded(self) -> Wallet:
        wallet = Wallet()
        self.node.fund(wallet.address)
        self.token.transact(self.issuer.wallet, "mint", wallet.address, 10 * TOKEN)
        return wallet

    def deploy(self, salt: str, *, code: int = 0, **changes: str) -> str:
        """What the command prints when it sends."""
        given = {"--salt": salt, **{f"--{name.replace('_', '-')}": value for name, value in changes.items()}}
        arguments = deployment_arguments(self.node, self.operator, self.token.address, **given)
        return operate(*arguments, "--send", key=self.operator, code=code)


def address_in(words: str) -> str:
    return next(line.split()[-1] for line in words.splitlines() if line.startswith("Hub address"))


@pytest.fixture(scope="module")
def rehearsal() -> Iterator[Rehearsal]:
    with anvil.start(mining="automine") as node:
        operator, payer, issuer = Wallet(), Wallet(), Issuer(Wallet(), Wallet())
        for wallet in (operator, payer, issuer.wallet, issuer.admin):
            node.fund(wallet.address)
        token, sent = issuer.deploy(node.w3)
        for each in sent:
            wait_for(node.w3, each)
        yield Rehearsal(node, token, issuer, operator, payer)


@pytest.fixture(scope="module")
def hub(rehearsal: Rehearsal, tmp_path_factory: pytest.TempPathFactory) -> Contract:
    """Deployed, with a roster of one."""
    address = address_in(rehearsal.deploy("1"))
    member = {"guardian_address": Wallet().address, "encryption_public_key": Identity.generate().public_key}
    roster = tmp_path_factory.mktemp("roster") / "roster.json"
    roster.write_text(json.dumps({"quorum": 1, "members": [member]}))
    base = ("admin", "--rpc-url", rehearsal.node.url, "--hub", address)
    operate(*base, "--send", "publish-roster", str(roster), key=rehearsal.operator)
    return Contract(rehearsal.node.w3, address, read_artifact(ARTIFACT).abi)


def terms(rehearsal: Rehearsal, hub: Contract, salt: int) -> tuple[object, ...]:
    roster = hub.call("getRoster", hub.call("currentRosterVersion"))[0]
    deadline = rehearsal.node.w3.eth.get_block("latest")["timestamp"] + 900
    return (b"\1" * 32, roster, TOKEN, deadline, 900, MAX, MAX, salt.to_bytes(32, "big"))


def refunded(rehearsal: Rehearsal, hub: Contract, poster: Wallet) -> None:
    """Nobody submits, anyone ends it, and the Poster has everything back."""
    bounty = next(number for number in range(1, 9) if hub.call("getBounty", number)[0] == poster.address)
    rehearsal.node.rpc.call("evm_setNextBlockTimestamp", hub.call("getBounty", bounty)[3] + 1)
    hub.transact(rehearsal.payer, "settle", bounty)
    hub.transact(poster, "claimRefund", bounty)
    assert rehearsal.token.call("balanceOf", poster.address) == 10 * TOKEN


def test_authorization_funds_and_is_refunded(rehearsal: Rehearsal, hub: Contract) -> None:
    poster, given, valid = rehearsal.funded(), terms(rehearsal, hub, 1), (0, MAX)
    signature = authorization(
        bytes.fromhex(poster.private_key[2:]),
        token=rehearsal.token.address,
        chain_id=rehearsal.node.chain_id,
        to=hub.address,
        amount=TOKEN,
        valid=valid,
        nonce=hub.call("authorizationNonce", given, Web3.to_checksum_address(poster.address)),
    )
    hub.transact(rehearsal.payer, "createBountyWithAuthorization", given, poster.address, *valid, signature)
    assert rehearsal.token.call("balanceOf", hub.address) == TOKEN
    refunded(rehearsal, hub, poster)


def test_allowance_funds_and_is_refunded(rehearsal: Rehearsal, hub: Contract) -> None:
    poster = rehearsal.funded()
    rehearsal.token.transact(poster, "approve", hub.address, TOKEN)
    hub.transact(poster, "createBounty", terms(rehearsal, hub, 2))
    refunded(rehearsal, hub, poster)


def implementation(rehearsal: Rehearsal) -> str:
    """Deploy the code that stands behind a proxy, without one."""
    w3, payer, code = rehearsal.node.w3, rehearsal.payer, usdc_code()
    return deploy(w3, payer, code.token(deploy(w3, payer, code.library).address)).address


def test_token_replaced_behind_its_proxy_pays_out(rehearsal: Rehearsal, hub: Contract) -> None:
    """What its issuer can do at any time: bounties do not notice."""
    poster = rehearsal.funded()
    rehearsal.token.transact(poster, "approve", hub.address, TOKEN)
    hub.transact(poster, "createBounty", terms(rehearsal, hub, 3))
    other = implementation(rehearsal)
    behind = Contract(rehearsal.node.w3, rehearsal.token.address, usdc_code().proxy.abi)
    behind.transact(rehearsal.issuer.admin, "upgradeTo", Web3.to_checksum_address(other))
    assert behind.call("implementation") == other
    refunded(rehearsal, hub, poster)


def test_token_that_is_no_usdc_is_refused(rehearsal: Rehearsal) -> None:
    none = "is no token that takes signed authorizations"
    assert none in rehearsal.deploy("5", code=1, token="0x" + "99" * 20)
    assert "has 0 decimals, not 6" in rehearsal.deploy("5", code=1, token=implementation(rehearsal))
    other = deploy(rehearsal.node.w3, rehearsal.payer, Artifact([], _answering_everything_with_six())).address
    assert none in rehearsal.deploy("5", code=1, token=other)


def _answering_everything_with_six() -> bytes:
    runtime = bytes.fromhex("60065f5260205ff3")
    return bytes([0x60, len(runtime), 0x60, 10, 0x5F, 0x39, 0x60, len(runtime), 0x5F, 0xF3]) + runtime


def test_token_that_is_paused_or_blocks_is_refused(
    rehearsal: Rehearsal,
) -> None:
    token, issuer, node = rehearsal.token, rehearsal.issuer.wallet, rehearsal.node
    token.transact(issuer, "pause")
    refused = rehearsal.deploy("6", code=1)
    assert "is paused by its issuer" in refused
    token.transact(issuer, "unpause")
    address = address_in(refused)
    for account, what in ((address, "the Hub's address"), ("0x" + "11" * 20, "the fee recipient")):
        token.transact(issuer, "blacklist", Web3.to_checksum_address(account))
        assert f"has {what} {account} on its block list" in rehearsal.deploy("6", code=1)
        assert node.rpc.call("eth_getCode", address, "latest") == "0x"
        token.transact(issuer, "unBlacklist", Web3.to_checksum_address(account))
    assert f"the Hub stands at {address}" in rehearsal.deploy("6")
