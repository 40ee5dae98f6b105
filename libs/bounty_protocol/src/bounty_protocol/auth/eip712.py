"""EIP-712 typed data: its domain, what a wallet is given (``eth_signTypedData_v4``), and the digest that is signed.

Of what this project signs: structures of words and texts, which hold no other structure and no list.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, ChainId, parse_address, parse_bytes32, to_bytes

Fields = tuple[tuple[str, str], ...]
"""Name and type of each member of a structure, in the order in which they are signed."""
_DOMAIN: Final = "EIP712Domain"
_DOMAIN_FIELDS: Final[Fields] = (
    ("name", "string"),
    ("version", "string"),
    ("chainId", "uint256"),
    ("verifyingContract", "address"),
)


@dataclass(frozen=True, slots=True)
class Domain:
    """The domain of what one contract, or what belongs to it, takes signatures over."""

    name: str
    version: str
    chain_id: ChainId
    verifying_contract: Address

    def separator(self) -> bytes:
        """Return the domain separator, 32 bytes (EIP-712)."""
        return _struct_hash(_DOMAIN, _DOMAIN_FIELDS, self.values())

    def values(self) -> dict[str, object]:
        """Return the domain in the form that wallets accept."""
        return {
            "name": self.name,
            "version": self.version,
            "chainId": self.chain_id,
            "verifyingContract": self.verifying_contract,
        }


def for_wallets(domain: Domain, name: str, fields: Fields, message: Mapping[str, object]) -> dict[str, object]:
    """Return a structure in the form that wallets accept. The integers of ``message`` may be decimal text."""
    types = ((_DOMAIN, _DOMAIN_FIELDS), (name, fields))
    return {
        "types": {each: [{"name": field, "type": kind} for field, kind in members] for each, members in types},
        "primaryType": name,
        "domain": domain.values(),
        "message": message,
    }


def type_hash(name: str, fields: Fields) -> bytes:
    """Return the 32 bytes with which a structure's hash begins."""
    members = ",".join(f"{kind} {field}" for field, kind in fields)
    return keccak256(f"{name}({members})".encode())


def signed_digest(separator: bytes, struct_hash: bytes) -> bytes:
    """Return the 32 bytes to sign for a structure in the domain of this separator."""
    return keccak256(b"\x19\x01" + separator + struct_hash)


def typed_data_digest(typed_data: Mapping[str, object]) -> bytes:
    """Return the 32 bytes to sign. Integers may be canonical decimal text.

    Raises ``KeyError``, ``TypeError``, ``ValueError`` or ``OverflowError`` for data that does not match its own types,
    or has types other than ``address``, ``bytes32``, ``string`` and ``uint256``.
    """
    domain = _struct_hash(_DOMAIN, _fields(typed_data, _DOMAIN), typed_data["domain"])
    name = str(typed_data["primaryType"])
    return signed_digest(domain, _struct_hash(name, _fields(typed_data, name), typed_data["message"]))


def _fields(typed_data: Mapping[str, object], name: str) -> Fields:
    fields = cast("Mapping[str, Sequence[Mapping[str, str]]]", typed_data["types"])[name]
    return tuple((field["name"], field["type"]) for field in fields)


def _struct_hash(name: str, fields: Fields, values: object) -> bytes:
    named = cast("Mapping[str, object]", values)
    if unsigned := named.keys() - {field for field, _ in fields}:
        raise ValueError(f"{name} has no {', '.join(sorted(unsigned))}, which would be shown but not signed")
    return keccak256(type_hash(name, fields) + b"".join(_word(kind, named[field]) for field, kind in fields))


def _word(kind: str, value: object) -> bytes:
    match kind, value:
        case "uint256", int() | str() if not isinstance(value, bool) and str(int(value)) == str(value):
            return int(value).to_bytes(32, "big")
        case "string", str():
            return keccak256(value.encode())
        case "bytes32", str():
            return to_bytes(parse_bytes32(value.lower()))
        case "address", str():
            return to_bytes(parse_address(value.lower())).rjust(32, b"\0")
        case _:
            raise ValueError(f"a malformed {kind}, or one of a type that is not signed here")
