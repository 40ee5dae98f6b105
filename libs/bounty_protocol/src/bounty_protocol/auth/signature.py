"""Plain-key signatures: the one policy on their form, making them, and recovery.

A signature is 65 bytes r || s || v with s in the lower half of the group order (EIP-2) and v 27 or 28. Compact
(64-byte) signatures, v of 0 or 1 and high s are refused, so one approval has one signature of one form.
"""

from string import hexdigits
from typing import Final

from bounty_protocol.auth.secp256k1 import BINDING
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, address_of

_HALF_ORDER: Final = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0


def recover(digest: bytes, signature: bytes) -> Address | None:
    """Return the account whose key signed ``digest``; None if the signature is malformed or recovers no account."""
    if len(signature) != 65 or signature[64] not in (27, 28) or int.from_bytes(signature[32:64], "big") > _HALF_ORDER:
        return None
    key = BINDING.recover(digest, signature[:64], signature[64] - 27)
    return None if key is None else _account(key)


def sign_digest(digest: bytes, private_key: bytes) -> bytes:
    """Return the deterministic signature of a 32-byte digest; for an invalid key raise ``ValueError``, which does not
    repeat it.
    """
    compact, recovery_id = BINDING.sign(digest, private_key)
    return compact + bytes([27 + recovery_id])


def account_of_key(private_key: bytes) -> Address:
    """Return the account of a 32-byte private key; for an invalid key raise ``ValueError``, which does not repeat
    it.
    """
    return _account(BINDING.public_key(private_key))


def parse_private_key(text: str) -> bytes:
    """Parse a private key in hexadecimal digits. The ``ValueError`` for any other text does not repeat it."""
    digits = text.removeprefix("0x")
    try:
        if len(digits) != 64 or not set(digits) <= set(hexdigits):
            raise ValueError
        key = bytes.fromhex(digits)
        account_of_key(key)
    except ValueError:
        raise ValueError("a private key: 32 bytes in hexadecimal digits") from None
    return key


def _account(public_key: bytes) -> Address:
    return address_of(keccak256(public_key)[12:])
