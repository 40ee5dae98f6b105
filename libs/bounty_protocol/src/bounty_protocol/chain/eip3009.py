"""EIP-3009 ``ReceiveWithAuthorization``: the token transfer a Poster signs instead of sending.

The typed data is the token's own (its EIP-712 domain). Only the payee can use the authorization, and its nonce binds
every term of the bounty.
"""

from typing import Final

from bounty_protocol.chain.hub_constants import EscrowToken
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, Bytes32, ChainId, TokenAmount, UnixSeconds, to_bytes

AUTHORIZATION_SECONDS: Final = 3_600
"""For how long the one of a new bounty may be used."""
_DOMAIN: Final = keccak256(b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")
_FIELDS: Final = (
    ("from", "address"),
    ("to", "address"),
    ("value", "uint256"),
    ("validAfter", "uint256"),
    ("validBefore", "uint256"),
    ("nonce", "bytes32"),
)


def domain_separator(token: EscrowToken, chain_id: ChainId) -> bytes:
    """The separator of the domain that the token describes; what is signed is good where the token has the same."""
    names = keccak256(token.name.encode()) + keccak256(token.version.encode())
    return keccak256(_DOMAIN + names + chain_id.to_bytes(32, "big") + to_bytes(token.address).rjust(32, b"\0"))


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
    """The typed data that the Poster's wallet shows and signs."""
    return {
        "types": {
            "EIP712Domain": [
                {"name": "name", "type": "string"},
                {"name": "version", "type": "string"},
                {"name": "chainId", "type": "uint256"},
                {"name": "verifyingContract", "type": "address"},
            ],
            "ReceiveWithAuthorization": [{"name": name, "type": kind} for name, kind in _FIELDS],
        },
        "primaryType": "ReceiveWithAuthorization",
        "domain": {
            "name": token.name,
            "version": token.version,
            "chainId": chain_id,
            "verifyingContract": token.address,
        },
        "message": {
            "from": owner,
            "to": payee,
            "value": str(value),
            "validAfter": str(valid_after),
            "validBefore": str(valid_before),
            "nonce": nonce,
        },
    }
