"""The key capsule: a Submission's content identity behind two locks, both needed.

Outside a timelock file for the reveal round; inside it an age file with exactly one X25519 stanza per Guardian of the
pinned roster, in roster order; inside that the line ``AGE-SECRET-KEY-1...``. So a Guardian alone cannot open it early
and the public alone cannot open it late. Promises: ``open_capsule`` gives only the identity whose public half stands
in the envelope. Refuses everything else with a class and words of its own, since they may become part of a Verdict.
"""

import os
from collections.abc import Sequence
from typing import Final

from service_common.crypto import age
from service_common.crypto.beacon import Beacon
from service_common.crypto.beacon_info import BeaconInfo
from service_common.crypto.failures import Failure, SealedDataError
from service_common.crypto.timelock import read_timelock, timelock_decrypt, timelock_encrypt
from service_common.crypto.x25519 import Identity, Randomness
from service_common.domain.reveal import RevealPolicy
from service_common.errors import Issue
from service_common.types import Bytes32

MAX_IDENTITY_FILE: Final = 4_096


def seal_capsule(
    identity: Identity,
    roster_keys: Sequence[Bytes32],
    number: int,
    info: BeaconInfo,
    randomness: Randomness = os.urandom,
) -> bytes:
    """Lock the identity for these Guardians until the round."""
    text = f"{identity.to_text()}\n".encode()
    return timelock_encrypt(age.encrypt_bytes(text, roster_keys, randomness), number, info, randomness)


def check_capsule(capsule: bytes, policy: RevealPolicy) -> list[Issue]:
    """What can be said of a capsule before its round: that it is a timelock file for the policy's round and chain."""
    try:
        lock = read_timelock(capsule)
    except SealedDataError as error:
        return [Issue("key_capsule", error.message)]
    issues = []
    if lock.chain_hash != policy.beacon_chain_hash:
        issues.append(Issue("key_capsule", "is locked to another beacon chain than reveal_policy.beacon_chain_hash"))
    if lock.round != policy.round:
        issues.append(Issue("key_capsule", "is locked to another round than reveal_policy.round"))
    return issues


def open_capsule(
    capsule: bytes,
    *,
    beacon: Beacon,
    info: BeaconInfo,
    keyring: Sequence[Identity],
    roster_size: int,
    content_public_key: Bytes32,
) -> Identity:
    """The content identity, with the beacon's signature for the capsule's round and one Guardian's keyring."""
    # 1. The outer lock: right chain, right round, real signature, unaltered.
    inner = timelock_decrypt(capsule, beacon, info)
    # 2. The inner lock: one stanza per Guardian, one of them ours.
    text = _open_inner(inner, keyring, roster_size)
    # 3. What was inside is the key that the envelope commits to.
    return check_identity(parse_identity_file(text), content_public_key)


def check_identity(identity: Identity, content_public_key: Bytes32) -> Identity:
    """Hold an identity, from wherever it came, against the envelope's public half."""
    if identity.public_key != content_public_key:
        message = "the identity is not the one whose public half stands in the envelope"
        raise SealedDataError(Failure.CAPSULE_WRONG_IDENTITY, message)
    return identity


def parse_identity_file(text: bytes) -> Identity:
    """Read an identity file as age-keygen writes it: one identity; empty lines and comments are skipped."""
    try:
        if len(text) > MAX_IDENTITY_FILE:
            raise _not_an_identity()
        lines = [line for line in text.decode("ascii").splitlines() if line and not line.startswith("#")]
        (line,) = lines
        return Identity.from_text(line)
    except (ValueError, SealedDataError):
        raise _not_an_identity() from None


def _open_inner(inner: bytes, keyring: Sequence[Identity], roster_size: int) -> bytes:
    try:
        return age.decrypt_bytes(inner, keyring, recipients=roster_size)
    except SealedDataError as error:
        if error.failure is Failure.AGE_NO_MATCHING_KEY:
            message = "the capsule opened, but no stanza in it opens with a key of this keyring"
            raise SealedDataError(Failure.CAPSULE_NOT_FOR_THIS_KEY, message) from None
        if error.failure is Failure.AGE_RECIPIENTS_REFUSED:
            message = f"the capsule is not sealed to the roster, one X25519 stanza per Guardian: {error.message}"
            raise SealedDataError(Failure.CAPSULE_WRONG_RECIPIENTS, message) from None
        raise SealedDataError(Failure.CAPSULE_MALFORMED, f"the capsule's inner file: {error.message}") from None


def _not_an_identity() -> SealedDataError:
    return SealedDataError(Failure.CAPSULE_MALFORMED, "what was sealed in the capsule is not one age identity")
