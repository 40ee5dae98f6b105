"""BLS12-381 as drand's quicknet scheme uses it: signatures on G1, public keys on G2.

Points are accepted only in the one compressed encoding of a non-identity point of the prime-order subgroup; other
encodings raise ``ValueError``. ``verify`` is e(signature, G2) = e(H(round), key). Library: py-arkworks-bls12381, which
accepts several encodings of infinity and has no serializer for GT, hence the checks below. Scheme:
``bls-unchained-g1-rfc9380`` of drand.
"""

import hashlib
from typing import Final

from py_arkworks_bls12381 import GT, G1Point, G2Point, Scalar

SCHEME_ID: Final = "bls-unchained-g1-rfc9380"
SIGNATURE_BYTES: Final = 48
PUBLIC_KEY_BYTES: Final = 96
ORDER: Final = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
"""Of the groups."""
DOMAIN: Final = b"BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_"
_GENERATOR: Final = G2Point()
_MINUS_GENERATOR: Final = -G2Point()
PAIRING_OF_GENERATORS: Final = "300e47c99502f3af33ad2080847d528cabd90365a90ab98bc174565c27928591"


def round_message(number: int) -> bytes:
    """Return the beacon's message for a round: SHA-256 of the round as 8 bytes, big-endian."""
    return hashlib.sha256(number.to_bytes(8, "big")).digest()


def round_point(number: int) -> G1Point:
    """Return the round's message hashed to the curve."""
    return G1Point.hash_to_curve(round_message(number), DOMAIN)


def signature_point(data: bytes) -> G1Point:
    """Decode a signature: 48 bytes, canonical, in the subgroup, not infinity."""
    if len(data) != SIGNATURE_BYTES:
        raise ValueError(f"a beacon signature has {SIGNATURE_BYTES} bytes")
    point = G1Point.from_compressed_bytes(data)
    if point == G1Point.identity() or point.to_compressed_bytes() != data:
        raise ValueError("not the canonical encoding of a signature")
    return point


def key_point(data: bytes) -> G2Point:
    """Decode a point of G2 (a public key, or the U of a timelock): canonical, in the subgroup, not infinity."""
    if len(data) != PUBLIC_KEY_BYTES:
        raise ValueError(f"a beacon public key has {PUBLIC_KEY_BYTES} bytes")
    point = G2Point.from_compressed_bytes(data)
    if point == G2Point.identity() or point.to_compressed_bytes() != data:
        raise ValueError("not the canonical encoding of a public key")
    return point


def verify(number: int, signature: bytes, public_key: bytes) -> bool:
    """Return whether this is the beacon's signature for the round."""
    try:
        points = [signature_point(signature), round_point(number)]
        return bool(GT.pairing_check(points, [_MINUS_GENERATOR, key_point(public_key)]))
    except (ValueError, OverflowError):
        return False


def sign(number: int, secret: Scalar) -> bytes:
    """Sign a round as a beacon does; for local beacons and tests."""
    return bytes((round_point(number) * secret).to_compressed_bytes())


def public_key_of(secret: Scalar) -> bytes:
    """Return the public key of a beacon's secret."""
    return bytes((_GENERATOR * secret).to_compressed_bytes())


def pairing_bytes(left: G1Point, right: G2Point) -> bytes:
    """Return e(left, right) in the byte order that tlock hashes: 576 bytes, highest coefficient first."""
    return bytes.fromhex(str(GT.pairing(left, right)))[::-1]


if hashlib.sha256(pairing_bytes(G1Point(), _GENERATOR)).hexdigest() != PAIRING_OF_GENERATORS:
    raise ImportError("py-arkworks-bls12381 writes GT in a byte order other than the one known to match tlock")
