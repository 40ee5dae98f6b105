"""What a wallet does with a plain key. Signatures are deterministic (RFC 6979), with s in the lower half."""

from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, address_of
from btclib_libsecp256k1 import keys, recovery


def account_of(secret: bytes) -> Address:
    """The account of a private key."""
    return address_of(keccak256(keys.pubkey_from_prvkey(secret, compressed=False)[1:])[12:])


def sign(secret: bytes, digest: bytes) -> bytes:
    """65 bytes r || s || v, v of 27 or 28."""
    signature, recovery_id = recovery.sign(digest, secret)
    return signature + bytes([27 + recovery_id])
