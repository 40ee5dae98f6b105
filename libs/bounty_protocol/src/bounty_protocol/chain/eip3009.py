"""EIP-3009 ``ReceiveWithAuthorization``: the token transfer a Poster signs instead of sending.

The typed data is the token's own (its EIP-712 domain). Only the payee can use the authorization, and its nonce binds
every term of the bounty.
"""

from typing import Final

from bounty_protocol.auth.eip712 import Domain, Fields, for_wallets
from bounty_protocol.chain.hub_constants import EscrowToken
from bounty_protocol.types import Address, Bytes32, ChainId, TokenAmount, UnixSeconds

AUTHORIZATION_SECONDS: Final = 3_600
"""Seconds for which the authorization of a new bounty may be used."""
_FIELDS: Final[Fields] = (
    ("from", "address"),
    ("to", "address"),
    ("value", "uint256"),
    ("validAfter", "uint256"),
    ("validBefore", "uint256"),
    ("nonce", "bytes32"),
)


def domain_separator(token: EscrowToken, chain_id: ChainId) -> bytes:
    """Return the token's EIP-712 domain separator, from the fields that the token describes."""
    return _domain(token, chain_id).separator()


def authorization_typed_data(
    token: EscrowToken,
    chain_id: ChainId,
    *,
    owner: Address,
    payee: Address,
    value: TokenAmount,
    valid_after: UnixSeconds,
    valid_before: UnixSeconds,
    nonce: Bytes32,
) -> dict[str, object]:
    """Return the typed data that the Poster's wallet shows and signs."""
    message = {
        "from": owner,
        "to": payee,
        "value": str(value),
        "validAfter": str(valid_after),
        "validBefore": str(valid_before),
        "nonce": nonce,
    }
    return for_wallets(_domain(token, chain_id), "ReceiveWithAuthorization", _FIELDS, message)


def _domain(token: EscrowToken, chain_id: ChainId) -> Domain:
    return Domain(token.name, token.version, chain_id, token.address)
