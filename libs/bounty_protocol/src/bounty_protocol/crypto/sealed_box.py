"""The delivery wrap: a content identity sealed to one X25519 key (libsodium ``crypto_box_seal``).

A wrap is 80 bytes in standard padded base64 and holds the identity's 32-byte scalar; what is unwrapped is the identity
whose public half the caller names. Other lengths and encodings, wraps for another key and wraps of another identity are
``delivery_wrap_invalid``. Used for the deployment's delivery key and for the Poster's one-time key.
"""

import base64
import binascii
from collections.abc import Sequence
from typing import Final

from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, PublicKey, SealedBox

from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.envelope.public_keys import check_public_key
from bounty_protocol.types import Bytes32, to_bytes

WRAP_BYTES: Final = 80


def wrap(identity: Identity, recipient: Bytes32) -> str:
    """Seal the identity's scalar to a public key."""
    try:
        key = PublicKey(to_bytes(check_public_key(recipient)))
    except ValueError as error:
        raise _invalid(str(error)) from None
    return base64.b64encode(SealedBox(key).encrypt(identity.secret)).decode()


def unwrap(wrapped_key: str, keyring: Sequence[Identity], content_public_key: Bytes32) -> Identity:
    """Open a wrap with the first key that fits and check that it holds the named identity."""
    sealed = _decode(wrapped_key)
    for key in keyring:
        try:
            scalar = SealedBox(PrivateKey(key.secret)).decrypt(sealed)
        except CryptoError:
            continue
        if len(scalar) == 32 and (identity := Identity(scalar)).public_key == content_public_key:
            return identity
        raise _invalid("the key in the wrap does not match the public half in the envelope")
    raise _invalid("the wrap does not open with this key")


def _decode(wrapped_key: str) -> bytes:
    try:
        sealed = base64.b64decode(wrapped_key, validate=True)
    except (binascii.Error, ValueError):
        sealed = b""
    if len(sealed) != WRAP_BYTES or base64.b64encode(sealed).decode() != wrapped_key:
        raise _invalid("wrapped_key must be 80 bytes in standard padded base64")
    return sealed


def _invalid(message: str) -> SealedDataError:
    return SealedDataError(Failure.DELIVERY_WRAP_INVALID, message)
