"""Hashes over Solidity's ABI encoding, each equal to what the Hub computes (Hub interface, "Values").

The encoder is imported on first use, because it takes longer to load than most commands take to run.
"""

from collections.abc import Sequence
from typing import Final

from bounty_protocol.domain.money.terms import TERMS_TYPES, Terms
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, Bytes32, bytes32, to_bytes

AUTHORIZATION_TYPE: Final = (
    "ServiceBounty(uint256 chainId,address hub,address poster,bytes32 specCommitment,bytes32 expectedRosterHash,"
    "uint256 escrowAmount,uint256 submissionDeadline,uint256 judgingWindow,uint256 maxProtocolFee,"
    "uint256 maxGuardianFee,bytes32 salt)"
)
SALT_TYPE: Final = "ServiceBountySalt(uint256 chainId,address hub,address poster,bytes32 specCommitment,uint256 number)"


def guardian_roster_hash(
    chain_id: int,
    hub: Address,
    *,
    version: int,
    accounts: Sequence[Address],
    encryption_public_keys: Sequence[Bytes32],
    quorum: int,
) -> Bytes32:
    """Return the hash a bounty pins: chain, Hub, version, accounts and X25519 keys in roster order, quorum."""
    types = ("uint256", "address", "uint256", "address[]", "bytes32[]", "uint256")
    keys = [to_bytes(key) for key in encryption_public_keys]
    return _hash(types, (chain_id, hub, version, list(accounts), keys, quorum))


def recipients_commitment(roster_hash: Bytes32, encryption_public_keys: Sequence[Bytes32]) -> Bytes32:
    """Return keccak256(abi.encode(guardian_roster_hash, encryption keys in roster order)); part of the envelope."""
    keys = [to_bytes(key) for key in encryption_public_keys]
    return _hash(("bytes32", "bytes32[]"), (to_bytes(roster_hash), keys))


def authorization_nonce(chain_id: int, hub: Address, poster: Address, terms: Terms) -> Bytes32:
    """Return the EIP-3009 nonce that binds an authorization to exactly these terms."""
    types = ("bytes32", "uint256", "address", "address", *TERMS_TYPES)
    return _hash(types, (keccak256(AUTHORIZATION_TYPE.encode()), chain_id, hub, poster, *terms.as_tuple()))


def funding_salt(chain_id: int, hub: Address, poster: Address, page: Bytes32, number: int) -> Bytes32:
    """Return the salt of the terms with which a Poster funds a page; ``number`` is 1 for the first bounty on it.

    It is derived from what every machine of the Poster knows, so that the same terms give the same authorization on
    each of them, and the token accepts it once.
    """
    types = ("bytes32", "uint256", "address", "address", "bytes32", "uint256")
    return _hash(types, (keccak256(SALT_TYPE.encode()), chain_id, hub, poster, to_bytes(page), number))


def _hash(types: Sequence[str], values: Sequence[object]) -> Bytes32:
    from eth_abi.abi import encode

    return bytes32(keccak256(encode(types, values)))
