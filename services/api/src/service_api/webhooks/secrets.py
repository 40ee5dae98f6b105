"""The secrets of webhooks: how they are made, sealed at rest, and used.

A secret is 32 random bytes, written as Standard Webhooks does: ``whsec_`` and base64. At rest it is sealed (HPKE,
RFC 9180: X25519, HKDF-SHA256, ChaCha20-Poly1305) to the key of the worker, bound to its webhook's id: the api can seal
and not open, and a row that is copied onto another webhook does not open.
"""

import base64
import hmac
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Final

from bounty_protocol.crypto.x25519 import Identity, Randomness
from bounty_protocol.types import Bytes32, to_bytes
from bounty_protocol.wire.values import WebhookId
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from sqlalchemy import RowMapping

PREFIX: Final = "whsec_"
SECRET_BYTES: Final = 32
_SUITE: Final = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)


class CannotOpen(Exception):
    """A sealed secret that none of the worker's keys opens."""


@dataclass(frozen=True, slots=True)
class FormerSecret:
    """One that was replaced, as it is stored, and until when messages carry its signature, too."""

    sealed: str = field(repr=False)
    until: datetime


def valid_former(row: RowMapping, now: datetime) -> tuple[FormerSecret, ...]:
    """The former secrets in a row of ``subscriptions`` that are still valid, newest first."""
    sealed = (row["former_sealed_secret"], *row["older_sealed_secrets"])
    stored = zip(sealed, (row["former_until"], *row["older_until"]), strict=True)
    return tuple(FormerSecret(each, until) for each, until in stored if until is not None and until > now)


def make_secret(randomness: Randomness = os.urandom) -> bytes:
    """A new secret."""
    return randomness(SECRET_BYTES)


def secret_text(secret: bytes) -> str:
    """The form in which its subscriber gets it, once."""
    return PREFIX + base64.b64encode(secret).decode()


def seal(secret: bytes, key: Bytes32, webhook_id: WebhookId) -> str:
    """A secret as it is stored."""
    public = X25519PublicKey.from_public_bytes(to_bytes(key))
    return base64.b64encode(_SUITE.encrypt(secret, public, info=_info(webhook_id))).decode()


def open_sealed(sealed: str, keyring: Sequence[Identity], webhook_id: WebhookId) -> bytes:
    """The secret behind what is stored, with the first key that fits."""
    ciphertext = base64.b64decode(sealed)
    for key in keyring:
        try:
            private = X25519PrivateKey.from_private_bytes(key.secret)
            return bytes(_SUITE.decrypt(ciphertext, private, info=_info(webhook_id)))
        except (InvalidTag, ValueError):
            continue
    raise CannotOpen


def signature_field(secrets: Sequence[bytes], message_id: str, timestamp: int, body: bytes) -> str:
    """``webhook-signature``: one signature for each secret that is valid, separated by spaces."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    signatures = (hmac.new(secret, signed, sha256).digest() for secret in secrets)
    return " ".join(f"v1,{base64.b64encode(each).decode()}" for each in signatures)


def _info(webhook_id: WebhookId) -> bytes:
    return f"bounty-escrow/webhook-secret/{webhook_id}".encode()
