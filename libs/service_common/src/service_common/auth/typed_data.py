"""The signed structure ``ApiRequestApproval`` and its EIP-712 digest.

The digest is the one that any EIP-712 library computes from ``typed_data``; both are built from one ``Approval``, so
what a wallet shows is what is verified. Section "Signed structure" of the interface.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from service_common.keccak import keccak256
from service_common.types import Address, BlockNumber, Bytes32, ChainId, bytes32, to_bytes

DOMAIN_NAME: Final = "Service"
DOMAIN_VERSION: Final = "1"
_DOMAIN_TYPE = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
_APPROVAL_FIELDS: Final = (
    ("endpointId", "string"),
    ("audience", "string"),
    ("bodyHash", "bytes32"),
    ("query", "string"),
    ("blockNumber", "uint256"),
    ("blockHash", "bytes32"),
)


@dataclass(frozen=True, slots=True)
class SigningDomain:
    """What separates one deployment's signatures from another's."""

    chain_id: ChainId
    hub_address: Address


@dataclass(frozen=True, slots=True)
class Approval:
    """What one signature covers."""

    endpoint_id: str
    audience: str
    body_hash: Bytes32
    query: str
    block_number: BlockNumber
    block_hash: Bytes32


def endpoint_id(method: str, path: str) -> str:
    """``<METHOD> <pathname>``: method uppercased, no origin, no query."""
    return f"{method.upper()} {path}"


def body_hash(body: bytes) -> Bytes32:
    """keccak256 of the exact request bytes, empty bytes included."""
    return bytes32(keccak256(body))


def digest(domain: SigningDomain, approval: Approval) -> bytes:
    """The 32 bytes that are signed."""
    struct = keccak256(
        b"".join(
            (
                _approval_type_hash(),
                keccak256(approval.endpoint_id.encode()),
                keccak256(approval.audience.encode()),
                to_bytes(approval.body_hash),
                keccak256(approval.query.encode()),
                approval.block_number.to_bytes(32, "big"),
                to_bytes(approval.block_hash),
            )
        )
    )
    return keccak256(b"\x19\x01" + _domain_separator(domain) + struct)


def typed_data(domain: SigningDomain, approval: Approval) -> dict[str, object]:
    """The same as a wallet takes it (``eth_signTypedData_v4``)."""
    return {
        "types": {
            "EIP712Domain": [
                {"name": "name", "type": "string"},
                {"name": "version", "type": "string"},
                {"name": "chainId", "type": "uint256"},
                {"name": "verifyingContract", "type": "address"},
            ],
            "ApiRequestApproval": [{"name": name, "type": kind} for name, kind in _APPROVAL_FIELDS],
        },
        "primaryType": "ApiRequestApproval",
        "domain": {
            "name": DOMAIN_NAME,
            "version": DOMAIN_VERSION,
            "chainId": domain.chain_id,
            "verifyingContract": domain.hub_address,
        },
        "message": {
            "endpointId": approval.endpoint_id,
            "audience": approval.audience,
            "bodyHash": approval.body_hash,
            "query": approval.query,
            "blockNumber": approval.block_number,
            "blockHash": approval.block_hash,
        },
    }


@lru_cache(maxsize=8)
def _domain_separator(domain: SigningDomain) -> bytes:
    return keccak256(
        keccak256(_DOMAIN_TYPE.encode())
        + keccak256(DOMAIN_NAME.encode())
        + keccak256(DOMAIN_VERSION.encode())
        + domain.chain_id.to_bytes(32, "big")
        + to_bytes(domain.hub_address).rjust(32, b"\0")
    )


@lru_cache(maxsize=1)
def _approval_type_hash() -> bytes:
    fields = ",".join(f"{kind} {name}" for name, kind in _APPROVAL_FIELDS)
    return keccak256(f"ApiRequestApproval({fields})".encode())
