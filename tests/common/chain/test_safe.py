"""A Safe as the signer of a request: on the chain by ERC-1271, before that by ERC-6492 with Safe's own factory."""

import pytest
from bounty_protocol.types import Address
from local_stack.anvil import AnvilServer
from local_stack.contract import Wallet

from tests.common.chain.test_contract_wallets import DIGEST, is_refused, verify
from tests.protocol.auth import wallets as w
from tests.safe.wallet import SafeWallet, make_safe


@pytest.fixture
def payer(node: AnvilServer) -> Wallet:
    wallet = Wallet()
    node.fund(wallet.address)
    return wallet


def account(safe: SafeWallet) -> Address:
    return Address(safe.address)


def test_safe_of_two_of_three_is_verified(node: AnvilServer, payer: Wallet) -> None:
    safe = make_safe(node.w3, payer)
    signature = safe.sign_digest(DIGEST)
    assert verify(node, account(safe), signature).signer == account(safe)
    assert verify(node, account(safe), safe.sign_digest(DIGEST, safe.owners[1:])).signer == account(safe)
    assert is_refused(node, account(safe), safe.sign_digest(DIGEST, safe.owners[:1]))
    assert is_refused(node, account(safe), signature[65:] + signature[:65])
    assert is_refused(node, account(safe), safe.sign_digest(bytes(32)))
    stranger = make_safe(node.w3, payer)
    assert is_refused(node, account(safe), stranger.sign_digest(DIGEST))


def test_safe_that_is_not_there_is_verified(node: AnvilServer, payer: Wallet) -> None:
    safe = make_safe(node.w3, payer, created=False)
    signature = safe.sign_digest(DIGEST)
    wrapped = w.wrapper(Address(safe.factory), safe.creation, signature)
    assert verify(node, account(safe), wrapped).signer == account(safe)
    assert is_refused(node, account(safe), signature)
    assert is_refused(node, account(safe), w.wrapper(Address(safe.factory), safe.creation, signature[:65]))


def test_safe_that_signed_on_chain_sends_no_signature(node: AnvilServer, payer: Wallet) -> None:
    safe = make_safe(node.w3, payer)
    assert is_refused(node, account(safe), b"")
    safe.sign_on_chain(node.w3, payer, DIGEST)
    assert verify(node, account(safe), b"").signer == account(safe)
    assert is_refused(node, Address(payer.address), b"")
