"""The signed structure ``ApiRequestApproval`` and its EIP-712 digest.

The digest is the one that any EIP-712 library computes from the typed data; both are built from the same values, so
what a wallet shows is what is verified. Section "Signed structure" of the interface; docs/authentication.md.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from bounty_protocol.auth.eip712 import Domain, Fields, for_wallets, signed_digest, type_hash
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, BlockNumber, Bytes32, ChainId, bytes32, to_bytes

DOMAIN_NAME: Final = "Service"
DOMAIN_VERSION: Final = "1"
_APPROVAL_FIELDS: Final[Fields] = (
    ("endpointId", "string"),
    ("audience", "string"),
    ("bodyHash", "bytes32"),
    ("query", "string"),
    ("blockNumber", "uint256"),
    ("blockHash", "bytes32"),
)
_APPROVAL_TYPE: Final = type_hash("ApiRequestApproval", _APPROVAL_FIELDS)


@dataclass(frozen=True, slots=True)
class SigningDomain:
    """The signing domain, which separates one deployment's signatures from another's."""

    chain_id: ChainId
    hub_address: Address


@dataclass(frozen=True, slots=True)
class Approval:
    """The message that one signature covers."""

    endpoint_id: str
    audience: str
    body_hash: Bytes32
    query: str
    block_number: BlockNumber
    block_hash: Bytes32


def endpoint_id(method: str, path: str) -> str:
    """Return ``<METHOD> <pathname>``: method uppercased, no origin, no query."""
    return f"{method.upper()} {path}"


def body_hash(body: bytes) -> Bytes32:
    """Return keccak256 of the exact request bytes, empty bytes included."""
    return bytes32(keccak256(body))


def digest(domain: SigningDomain, approval: Approval) -> bytes:
    """Return the 32 bytes to sign."""
    return _signed(
        domain,
        _APPROVAL_TYPE,
        keccak256(approval.endpoint_id.encode()),
        keccak256(approval.audience.encode()),
        to_bytes(approval.body_hash),
        keccak256(approval.query.encode()),
        approval.block_number.to_bytes(32, "big"),
        to_bytes(approval.block_hash),
    )


def typed_data(domain: SigningDomain, approval: Approval) -> dict[str, object]:
    """Return a request in the form that wallets accept (``eth_signTypedData_v4``)."""
    message = {
        "endpointId": approval.endpoint_id,
        "audience": approval.audience,
        "bodyHash": approval.body_hash,
        "query": approval.query,
        "blockNumber": approval.block_number,
        "blockHash": approval.block_hash,
    }
    return for_wallets(_whole(domain), "ApiRequestApproval", _APPROVAL_FIELDS, message)


def _signed(domain: SigningDomain, *words: bytes) -> bytes:
    """Return the digest of a structure with this type hash and these values."""
    return signed_digest(_separator(domain), keccak256(b"".join(words)))


@lru_cache(maxsize=8)
def _separator(domain: SigningDomain) -> bytes:
    """It is cached: computing it takes three times as long as the rest of a digest."""
    return _whole(domain).separator()


def _whole(domain: SigningDomain) -> Domain:
    return Domain(DOMAIN_NAME, DOMAIN_VERSION, domain.chain_id, domain.hub_address)
