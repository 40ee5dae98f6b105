"""X25519 public keys as the service accepts them (Hub interface, "Values").

An accepted key has one encoding (below 2^255 - 19, top bit clear) and leads to a shared secret that depends on the
other side; everything else raises ``ValueError``. Pure arithmetic: no key exchange here.
"""

from typing import Final

from bounty_protocol.types import Bytes32, parse_bytes32, to_bytes

FIELD_PRIME: Final = 2**255 - 19

# The u-coordinates of order 1, 2, 4 and 8 on the curve and its twist; each multiplies to the all-zero secret.
_LOW_ORDER: Final = frozenset(
    {
        0,
        1,
        FIELD_PRIME - 1,
        325606250916557431795983626356110631294008115727848805560023387167927233504,
        39382357235489614581723060781553021112529911719440698176882885853963445705823,
    }
)


def check_public_key(key: Bytes32) -> Bytes32:
    """Return the key if it is canonical and not of low order; otherwise ``ValueError`` says what it must be."""
    number = int.from_bytes(to_bytes(key), "little")
    if number >= FIELD_PRIME:
        raise ValueError("must be a canonical X25519 public key, a number below 2^255 - 19")
    if number in _LOW_ORDER:
        raise ValueError("must not be an X25519 public key of low order: everyone knows the secrets made with it")
    return key


def parse_public_key(text: str) -> Bytes32:
    """Read an X25519 public key from 0x-hex."""
    return check_public_key(parse_bytes32(text))
