"""The digest of EIP-712 typed data, as a wallet is given it (``eth_signTypedData_v4``).

Of what this project signs: structures of words and texts, which hold no other structure and no list.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from bounty_protocol.keccak import keccak256
from bounty_protocol.types import parse_address, parse_bytes32, to_bytes


def typed_data_digest(typed_data: Mapping[str, object]) -> bytes:
    """The 32 bytes that are signed; integers may be decimal text, written in the one way that ``str`` writes them.

    ``KeyError``, ``TypeError``, ``ValueError`` or ``OverflowError`` for data that is not of its own types, has more
    than these name, or is of others than ``address``, ``bytes32``, ``string`` and ``uint256``.
    """
    domain = _struct_hash(typed_data, "EIP712Domain", typed_data["domain"])
    message = _struct_hash(typed_data, str(typed_data["primaryType"]), typed_data["message"])
    return keccak256(b"\x19\x01" + domain + message)


def _struct_hash(typed_data: Mapping[str, object], name: str, values: object) -> bytes:
    fields = cast("Mapping[str, Sequence[Mapping[str, str]]]", typed_data["types"])[name]
    named = cast("Mapping[str, object]", values)
    if unsigned := named.keys() - {field["name"] for field in fields}:
        raise ValueError(f"{name} has no {', '.join(sorted(unsigned))}, which would be shown and not signed")
    members = ",".join(f"{field['type']} {field['name']}" for field in fields)
    words = (_word(field["type"], named[field["name"]]) for field in fields)
    return keccak256(keccak256(f"{name}({members})".encode()) + b"".join(words))


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
            raise ValueError(f"a {kind} that is none, or of a type that is not signed here")
