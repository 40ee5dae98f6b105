"""The delivery keyring's public side: which key is current, and how a key is named."""

import hashlib

from service_common.crypto.x25519 import Identity
from service_common.types import Bytes32, to_bytes


def key_id(public_key: Bytes32) -> str:
    """The first 8 bytes of the key's SHA-256, hex."""
    return "0x" + hashlib.sha256(to_bytes(public_key)).hexdigest()[:16]


def delivery_key_json(keyring: tuple[Identity, ...]) -> dict[str, object]:
    """The body of ``delivery-key``: the current key."""
    public_key = keyring[0].public_key
    return {
        "delivery_public_key": public_key,
        "key_id": key_id(public_key),
        "algorithm": "x25519-sealed-box",
    }
