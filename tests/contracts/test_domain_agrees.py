"""Hashes and the rule on keys: the protocol's against the Hub's own."""

from collections.abc import Sequence
from typing import Final

import pytest
from bounty_protocol.domain.envelope.public_keys import _LOW_ORDER
from bounty_protocol.domain.money.abi_hashes import authorization_nonce, guardian_roster_hash
from bounty_protocol.types import Address, Bytes32, ChainId, to_bytes

from tests.contracts.evm import Chain, Contract, Done, Refusal
from tests.vectors.samples import POSTER, PROTOCOL, ROSTER, TERMS, account

CHAIN_ID: Final = ChainId(1)  # the EVM's own
OWNER: Final = account("owner")
CONFIG: Final = "(address,address,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,address)"
KEYS: Final = [to_bytes(key) for key in ROSTER.encryption_public_keys]


@pytest.fixture(scope="module")
def hub() -> Contract:
    chain = Chain(1_800_000_000)
    token = chain.deploy_token(OWNER)
    return chain.deploy("Hub", (CONFIG, (token.address, OWNER, 10, 5, 10**6, 5, 10**6, 100, 1, 250, 500, PROTOCOL)))


def _publish(hub: Contract, accounts: Sequence[Address], keys: Sequence[bytes], quorum: int) -> Done | Refusal:
    return hub.send(OWNER, "publishRoster", list(accounts), list(keys), quorum)


def _version(hub: Contract) -> int:
    """The newest version, current or announced."""
    announced, _ = hub.read("announcedRoster")
    return int(announced or hub.read("currentRosterVersion"))


def test_authorization_nonce__of_the_hub__ours(hub: Contract) -> None:
    answer = hub.read("authorizationNonce", TERMS.as_tuple(), POSTER)
    assert answer == authorization_nonce(CHAIN_ID, Address(hub.address), POSTER, TERMS)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_guardian_roster_hash__of_the_hub__ours(size: int, hub: Contract) -> None:
    accounts, quorum = ROSTER.accounts[:size], size // 2 + 1
    assert isinstance(_publish(hub, accounts, KEYS[:size], quorum), Done)
    version = _version(hub)
    pinned, _, members, keys, *_ = hub.read("getRoster", version)
    expected = guardian_roster_hash(
        CHAIN_ID,
        Address(hub.address),
        version=version,
        accounts=[Address(member) for member in members],
        encryption_public_keys=[Bytes32(key) for key in keys],
        quorum=quorum,
    )
    assert pinned == expected


@pytest.mark.parametrize("number", [*sorted(_LOW_ORDER), 2**255 - 19, 2**255 - 18, 2**255 + 9, 2**256 - 1])
def test_key_that_we_refuse_the_hub_refuses(number: int, hub: Contract) -> None:
    before = _version(hub)
    refusal = _publish(hub, ROSTER.accounts[:1], [number.to_bytes(32, "little")], 1)
    assert isinstance(refusal, Refusal)
    assert refusal.name in {"EncryptionKeyNotCanonical", "EncryptionKeyLowOrder"}
    assert _version(hub) == before


@pytest.mark.parametrize("number", [2, 9, 2**255 - 21])
def test_neighbour_of_a_refused_key_is_accepted(number: int, hub: Contract) -> None:
    before = _version(hub)
    assert isinstance(_publish(hub, ROSTER.accounts[:1], [number.to_bytes(32, "little")], 1), Done)
    assert _version(hub) == before + 1
