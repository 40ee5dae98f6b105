"""The header ``Authorization: Service-Approval <base64(address~signature~blockNumber~blockHash)>``.

One header text means one approval. ``ValueError`` is raised for another scheme, anything but standard padded base64,
other than four fields, numbers or hashes that are not canonical, and more than ``MAX_HEADER_LENGTH``. The scheme's name
is case-insensitive (RFC 9110).
"""

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Final

from bounty_protocol.types import Address, BlockNumber, Bytes32, parse_address, parse_bytes32, parse_unix_seconds

SCHEME: Final = "Service-Approval"
MAX_HEADER_LENGTH: Final = 16 * 1024
_HEX: Final = re.compile(r"0x(?:[0-9a-fA-F]{2})*")


@dataclass(frozen=True, slots=True)
class ApprovalHeader:
    """The claims of the header; none is proven yet."""

    address: Address
    signature: bytes
    """Empty for a contract that knows on chain what its owners signed, such as a Safe."""
    block_number: BlockNumber
    block_hash: Bytes32


def parse_header(text: str) -> ApprovalHeader:
    """Read a header's value."""
    scheme, _, payload = text.partition(" ")
    if len(text) > MAX_HEADER_LENGTH or scheme.lower() != SCHEME.lower():
        raise ValueError("not a Service-Approval header")
    try:
        given = payload.encode("ascii")
        decoded = binascii.a2b_base64(given, strict_mode=True)
        joined = decoded.decode("ascii")
    except (binascii.Error, UnicodeError) as error:
        raise ValueError("the approval is not standard base64 of ASCII text") from error
    if binascii.b2a_base64(decoded, newline=False) != given:
        raise ValueError("the approval is not canonical base64")
    address, signature, number, block_hash = joined.split("~")  # ValueError for any other number of fields
    return ApprovalHeader(
        parse_address(address),
        _signature(signature),
        BlockNumber(parse_unix_seconds(number)),
        parse_bytes32(block_hash),
    )


def format_header(approval: ApprovalHeader) -> str:
    """Return the header's value."""
    joined = f"{approval.address}~0x{approval.signature.hex()}~{approval.block_number}~{approval.block_hash}"
    return f"{SCHEME} {base64.b64encode(joined.encode()).decode()}"


def _signature(text: str) -> bytes:
    if _HEX.fullmatch(text) is None:
        raise ValueError("the signature is not 0x-hex")
    return bytes.fromhex(text[2:])
