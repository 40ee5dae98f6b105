"""The signed structures ``ApiRequestApproval`` and ``HubNotice``, and their EIP-712 digests.

A digest is the one that any EIP-712 library computes from the typed data; both are built from the same values, so what
a wallet shows is what is verified. Section "Signed structure" of the interface; docs/authentication.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from bounty_protocol.domain.hub_notice import HubNotice
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, BlockNumber, Bytes32, ChainId, bytes32, to_bytes

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
_NOTICE_FIELDS: Final = (("reason", "string"), ("issuedAt", "uint256"), ("expiresAt", "uint256"))
Fields = tuple[tuple[str, str], ...]


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
    """``<METHOD> <pathname>``: method uppercased, no origin, no query."""
    return f"{method.upper()} {path}"


def body_hash(body: bytes) -> Bytes32:
    """keccak256 of the exact request bytes, empty bytes included."""
    return bytes32(keccak256(body))


def digest(domain: SigningDomain, approval: Approval) -> bytes:
    """The 32 bytes that are signed."""
    return _signed(
        domain,
        _type_hash("ApiRequestApproval", _APPROVAL_FIELDS),
        keccak256(approval.endpoint_id.encode()),
        keccak256(approval.audience.encode()),
        to_bytes(approval.body_hash),
        keccak256(approval.query.encode()),
        approval.block_number.to_bytes(32, "big"),
        to_bytes(approval.block_hash),
    )


def notice_digest(notice: HubNotice) -> bytes:
    """The 32 bytes that are signed of a notice."""
    return _signed(
        SigningDomain(notice.chain_id, notice.hub_address),
        _type_hash("HubNotice", _NOTICE_FIELDS),
        keccak256(notice.reason.encode()),
        notice.issued_at.to_bytes(32, "big"),
        notice.expires_at.to_bytes(32, "big"),
    )


def typed_data(domain: SigningDomain, approval: Approval) -> dict[str, object]:
    """A request as a wallet takes it (``eth_signTypedData_v4``)."""
    message = {
        "endpointId": approval.endpoint_id,
        "audience": approval.audience,
        "bodyHash": approval.body_hash,
        "query": approval.query,
        "blockNumber": approval.block_number,
        "blockHash": approval.block_hash,
    }
    return _for_wallets(domain, "ApiRequestApproval", _APPROVAL_FIELDS, message)


def notice_typed_data(notice: HubNotice) -> dict[str, object]:
    """A notice as a wallet takes it; its signature is not looked at."""
    message = {"reason": notice.reason.value, "issuedAt": notice.issued_at, "expiresAt": notice.expires_at}
    return _for_wallets(SigningDomain(notice.chain_id, notice.hub_address), "HubNotice", _NOTICE_FIELDS, message)


def _signed(domain: SigningDomain, *words: bytes) -> bytes:
    """The digest of a structure whose type hash and values are these words."""
    return keccak256(b"\x19\x01" + _domain_separator(domain) + keccak256(b"".join(words)))


def _for_wallets(domain: SigningDomain, name: str, fields: Fields, message: Mapping[str, object]) -> dict[str, object]:
    return {
        "types": {
            "EIP712Domain": [
                {"name": "name", "type": "string"},
                {"name": "version", "type": "string"},
                {"name": "chainId", "type": "uint256"},
                {"name": "verifyingContract", "type": "address"},
            ],
            name: [{"name": field, "type": kind} for field, kind in fields],
        },
        "primaryType": name,
        "domain": {
            "name": DOMAIN_NAME,
            "version": DOMAIN_VERSION,
            "chainId": domain.chain_id,
            "verifyingContract": domain.hub_address,
        },
        "message": message,
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


@lru_cache(maxsize=2)
def _type_hash(name: str, fields: Fields) -> bytes:
    members = ",".join(f"{kind} {field}" for field, kind in fields)
    return keccak256(f"{name}({members})".encode())
