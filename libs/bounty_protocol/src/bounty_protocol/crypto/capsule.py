"""The key capsule: a Submission's content identity behind two locks, both needed.

Outside a timelock file for the reveal round; inside it an age file with exactly one X25519 stanza per Guardian of the
pinned roster, in roster order; inside that an identity file that names its bounty and Solver. So a Guardian alone
cannot open it early and the public alone cannot open it late. ``open_capsule`` returns only the identity whose public
half is in the envelope, and none that was sealed for another bounty or Solver. Everything else is refused with a
failure class and a message of ours, since the message may become part of a Verdict.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bounty_protocol.crypto import age
from bounty_protocol.crypto.beacon import Beacon
from bounty_protocol.crypto.beacon_info import BeaconInfo
from bounty_protocol.crypto.binding import check_binding
from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.crypto.timelock import read_timelock, timelock_decrypt, timelock_encrypt
from bounty_protocol.crypto.x25519 import Identity, Randomness
from bounty_protocol.domain.envelope.binding import Binding, take_comment
from bounty_protocol.domain.envelope.reveal import RevealPolicy
from bounty_protocol.errors import Issue
from bounty_protocol.types import Bytes32

MAX_IDENTITY_FILE: Final = 4_096
_COMMENT: Final = b"# "


@dataclass(frozen=True, slots=True)
class IdentityFile:
    """A content identity as age-keygen writes one, and the binding in its comment."""

    identity: Identity
    binding: Binding | None

    def to_bytes(self) -> bytes:
        """Return the file; age treats the binding as a comment."""
        comment = b"" if self.binding is None else _COMMENT + self.binding.text().encode() + b"\n"
        return comment + self.identity.to_text().encode() + b"\n"


def seal_capsule(
    identity: Identity,
    binding: Binding,
    roster_keys: Sequence[Bytes32],
    number: int,
    info: BeaconInfo,
    randomness: Randomness = os.urandom,
) -> bytes:
    """Lock the identity, with its bounty and Solver, for these Guardians until the round."""
    text = IdentityFile(identity, binding).to_bytes()
    return timelock_encrypt(age.encrypt_bytes(text, roster_keys, randomness), number, info, randomness)


def check_capsule(capsule: bytes, policy: RevealPolicy) -> list[Issue]:
    """Check before the round that the capsule is a timelock file for the policy's round and chain."""
    try:
        lock = read_timelock(capsule)
    except SealedDataError as error:
        return [Issue("key_capsule", error.message)]
    issues = []
    if lock.chain_hash != policy.beacon_chain_hash:
        issues.append(Issue("key_capsule", "is locked to a beacon chain other than reveal_policy.beacon_chain_hash"))
    if lock.round != policy.round:
        issues.append(Issue("key_capsule", "is locked to a round other than reveal_policy.round"))
    return issues


def open_capsule(
    capsule: bytes,
    *,
    beacon: Beacon,
    info: BeaconInfo,
    keyring: Sequence[Identity],
    roster_size: int,
    content_public_key: Bytes32,
    expected: Binding,
) -> Identity:
    """Open the capsule to the content identity, by the beacon's signature for its round and one Guardian's keyring."""
    # 1. The outer lock: right chain, right round, real signature, unaltered.
    inner = timelock_decrypt(capsule, beacon, info)
    # 2. The inner lock: one stanza per Guardian, one of them ours.
    text = _open_inner(inner, keyring, roster_size)
    # 3. It was sealed for this bounty by this Solver.
    found = parse_identity_file(text)
    check_binding(expected, found.binding, "the key capsule")
    # 4. It is the key that the envelope commits to.
    return check_identity(found.identity, content_public_key)


def check_identity(identity: Identity, content_public_key: Bytes32) -> Identity:
    """Compare an identity from any source with the envelope's public half, and return it."""
    if identity.public_key != content_public_key:
        message = "the identity does not match the public half in the envelope"
        raise SealedDataError(Failure.CAPSULE_WRONG_IDENTITY, message)
    return identity


def parse_identity_file(data: bytes) -> IdentityFile:
    """Read an identity file as age does: one identity; empty lines and comments other than the binding are skipped.

    A line ends with a line feed, and one carriage return before it belongs to the line end: whatever opens here also
    opens with age.
    """
    try:
        if len(data) > MAX_IDENTITY_FILE:
            raise _not_an_identity()
        lines = [line.removesuffix(b"\r") for line in data.split(b"\n")]
        (key,) = [line for line in lines if line and not line.startswith(b"#")]
        identity = Identity.from_text(key.decode("ascii"))
    except (ValueError, SealedDataError):
        raise _not_an_identity() from None
    return IdentityFile(identity, _binding(lines))


def _binding(lines: Sequence[bytes]) -> Binding | None:
    found = None
    try:
        for line in lines:
            if line.startswith(_COMMENT):
                found = take_comment(found, line.removeprefix(_COMMENT).decode("ascii", "replace"))
    except ValueError as error:
        message = f"the binding in the capsule's identity file cannot be read: {error}"
        raise SealedDataError(Failure.CAPSULE_MALFORMED, message) from None
    return found


def _open_inner(inner: bytes, keyring: Sequence[Identity], roster_size: int) -> bytes:
    try:
        return age.decrypt_bytes(inner, keyring, recipients=roster_size)
    except SealedDataError as error:
        if error.failure is Failure.AGE_NO_MATCHING_KEY:
            message = "no key in this keyring opens what was sealed for the Guardians; an older key may"
            raise SealedDataError(Failure.CAPSULE_NOT_FOR_THIS_KEY, message) from None
        if error.failure is Failure.AGE_RECIPIENTS_REFUSED:
            message = f"the capsule is not sealed to the roster, one X25519 stanza per Guardian: {error.message}"
            raise SealedDataError(Failure.CAPSULE_WRONG_RECIPIENTS, message) from None
        raise SealedDataError(Failure.CAPSULE_MALFORMED, f"the capsule's inner file: {error.message}") from None


def _not_an_identity() -> SealedDataError:
    return SealedDataError(Failure.CAPSULE_MALFORMED, "what was sealed in the capsule is not one age identity")
