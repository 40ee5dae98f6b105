"""X25519 identities and recipients in age's text forms.

An identity never shows its secret in ``repr``. Every public key is canonical and not of low order (see
``domain.public_keys``), and a shared secret is never all zero; keys of another form raise ``SealedDataError``
(``key_invalid``). ``SERVICE_GUARDIAN_PRIVATE_KEYS_JSON`` and the delivery keys are read by ``parse_keyring``.
"""

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from bounty_protocol.crypto import bech32
from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.domain.envelope.public_keys import check_public_key
from bounty_protocol.types import Bytes32, bytes32, to_bytes

Randomness = Callable[[int], bytes]
"""Gives that many unpredictable bytes: ``os.urandom`` everywhere but in tests."""

_IDENTITY_PREFIX: Final = "age-secret-key-"
_RECIPIENT_PREFIX: Final = "age"
MAX_KEYRING: Final = 64


@dataclass(frozen=True, slots=True)
class Identity:
    """An X25519 private key: 32 bytes, as age writes them after ``AGE-SECRET-KEY-1``."""

    secret: bytes = field(repr=False)
    public_key: Bytes32 = field(init=False)

    def __post_init__(self) -> None:
        if len(self.secret) != 32:
            raise SealedDataError(Failure.KEY_INVALID, "an X25519 private key has 32 bytes")
        public = X25519PrivateKey.from_private_bytes(self.secret).public_key().public_bytes_raw()
        object.__setattr__(self, "public_key", bytes32(public))

    @staticmethod
    def generate(randomness: Randomness = os.urandom) -> "Identity":
        """Generate a new identity."""
        return Identity(randomness(32))

    @staticmethod
    def from_text(text: str) -> "Identity":
        """Read ``AGE-SECRET-KEY-1...`` (upper case, as age writes it)."""
        try:
            return Identity(bech32.decode(_IDENTITY_PREFIX, text if text.isupper() else ""))
        except ValueError:
            raise SealedDataError(Failure.KEY_INVALID, "not an age identity: AGE-SECRET-KEY-1...") from None

    def to_text(self) -> str:
        """Return ``AGE-SECRET-KEY-1...``: a secret, for files and variables only."""
        return bech32.encode(_IDENTITY_PREFIX, self.secret).upper()

    def shared_secret(self, peer: Bytes32) -> bytes:
        """Compute the X25519 function of this key and a checked public key."""
        try:
            check_public_key(peer)
            return X25519PrivateKey.from_private_bytes(self.secret).exchange(
                X25519PublicKey.from_public_bytes(to_bytes(peer))
            )
        except ValueError:
            raise SealedDataError(Failure.KEY_INVALID, "an X25519 public key that yields a known secret") from None


def recipient_text(public_key: Bytes32) -> str:
    """Return ``age1...`` of a public key, as age's command line takes it."""
    return bech32.encode(_RECIPIENT_PREFIX, to_bytes(public_key))


def parse_recipient(text: str) -> Bytes32:
    """Parse the public key behind ``age1...``."""
    try:
        return check_public_key(bytes32(bech32.decode(_RECIPIENT_PREFIX, text if text.islower() else "")))
    except ValueError:
        raise SealedDataError(Failure.KEY_INVALID, "not an age X25519 recipient: age1...") from None


_FORM: Final = "AGE-SECRET-KEY-1..."


def _other_kind(text: str) -> str | None:
    """Say what a text is if it is commonly mistaken for a keyring; None if it may be one."""
    if re.fullmatch(r"\s*(0x)?[0-9a-fA-F]{64}\s*", text):
        return "an account's private key"
    if "AGE-SECRET-KEY-PQ-1" in text:
        return "a post-quantum identity of age, for which nothing is sealed"
    if text.lstrip().startswith(("#", "AGE-SECRET-KEY-1")):
        return "an identity file of age"
    return None


def parse_keyring(text: str) -> tuple[Identity, ...]:
    """Read a JSON array of ``AGE-SECRET-KEY-1...`` strings, newest first; at least one, each once."""
    if (other := _other_kind(text)) is not None:
        raise SealedDataError(Failure.KEY_INVALID, f"this is {other}; a keyring is a JSON array of {_FORM} strings")
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        entries = None
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise SealedDataError(Failure.KEY_INVALID, f"a keyring is a JSON array of {_FORM} strings")
    if not 1 <= len(entries) <= MAX_KEYRING:
        raise SealedDataError(Failure.KEY_INVALID, f"a keyring holds 1 to {MAX_KEYRING} keys, newest first")
    identities = tuple(Identity.from_text(entry) for entry in entries)
    if len({identity.public_key for identity in identities}) != len(identities):
        raise SealedDataError(Failure.KEY_INVALID, "a key is in the keyring twice")
    return identities
