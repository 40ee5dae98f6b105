"""The values that every part uses, parsed once at the edge.

A value of one of these types is valid and in its one canonical form (addresses, 32-byte values and keys lowercase
0x-hex); everything else raises ``ValueError``. Formats: "Conventions for values" of the interface.
"""

import re
from typing import Final, NewType

Address = NewType("Address", str)
"""An account: ``0x`` and 40 lowercase hex digits."""
Bytes32 = NewType("Bytes32", str)
"""A commitment, hash or X25519 public key: ``0x`` and 64 lowercase hex digits."""
ChainId = NewType("ChainId", int)
BountyId = NewType("BountyId", int)
"""Counts from 1; a decimal string in payloads."""
TokenAmount = NewType("TokenAmount", int)
"""Smallest units of the escrow token; a decimal string in payloads."""
Wei = NewType("Wei", int)
"""The smallest unit of ether, in which gas is paid; a decimal string in payloads."""
UnixSeconds = NewType("UnixSeconds", int)
BlockNumber = NewType("BlockNumber", int)
RosterVersion = NewType("RosterVersion", int)
"""Counts the published rosters of a Hub from 1."""

ZERO_ADDRESS: Final = Address("0x" + "00" * 20)
ZERO_BYTES32: Final = Bytes32("0x" + "00" * 32)
MAX_UINT256: Final = 2**256 - 1
MAX_INT64: Final = 2**63 - 1

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_BYTES32 = re.compile(r"0x[0-9a-fA-F]{64}")
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,77}")


def parse_address(text: str) -> Address:
    """Read an account address: all lower case, all upper case or valid EIP-55."""
    if not isinstance(text, str) or _ADDRESS.fullmatch(text) is None:
        raise ValueError("0x and 40 hexadecimal digits")
    digits = text[2:]
    if digits not in (digits.lower(), digits.upper()) and text != checksum_address(Address(text.lower())):
        raise ValueError("the letters of this address do not match its EIP-55 checksum")
    return Address(text.lower())


def checksum_address(address: Address) -> str:
    """Return the EIP-55 form, for people and for libraries that insist on it."""
    from bounty_protocol.keccak import keccak256  # most uses of this module hash nothing

    digits = address[2:]
    digest = keccak256(digits.encode()).hex()
    return "0x" + "".join(c.upper() if int(h, 16) >= 8 else c for c, h in zip(digits, digest, strict=False))


def parse_bytes32(text: str) -> Bytes32:
    """Read a 32-byte value in 0x-hex of either case."""
    if not isinstance(text, str) or _BYTES32.fullmatch(text) is None:
        raise ValueError("0x and 64 hexadecimal digits")
    return Bytes32(text.lower())


def parse_decimal(text: str) -> int:
    """Read a canonical decimal: digits only, no sign, space or leading zero, at most 256 bits."""
    if not isinstance(text, str) or _DECIMAL.fullmatch(text) is None or int(text) > MAX_UINT256:
        raise ValueError("a whole number in at most 78 decimal digits, without sign, space or leading zero")
    return int(text)


def parse_bounty_id(text: str) -> BountyId:
    """Read a bounty id: a canonical decimal from 1, within 64 bits."""
    number = parse_decimal(text)
    if not 1 <= number <= MAX_INT64:
        raise ValueError("a whole number from 1 to 9223372036854775807")
    return BountyId(number)


def parse_amount(text: str) -> TokenAmount:
    """Read an amount of smallest units: a canonical decimal within 256 bits."""
    return TokenAmount(parse_decimal(text))


def parse_unix_seconds(text: str) -> UnixSeconds:
    """Read a chain time: a canonical decimal of seconds within 64 bits."""
    number = parse_decimal(text)
    if number > MAX_INT64:
        raise ValueError("a whole number of seconds since 1970")
    return UnixSeconds(number)


def to_bytes(value: Address | Bytes32) -> bytes:
    """Return the bytes behind the hex."""
    return bytes.fromhex(value[2:])


def bytes32(data: bytes) -> Bytes32:
    """Return the hex of exactly 32 bytes."""
    if len(data) != 32:
        raise ValueError("not 32 bytes")
    return Bytes32("0x" + data.hex())


def address_of(data: bytes) -> Address:
    """Return the hex of 20 bytes."""
    return Address("0x" + data.hex())
