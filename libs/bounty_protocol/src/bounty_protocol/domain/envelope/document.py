"""The Submission envelope: canonical JSON whose keccak256 is the Submission's commitment (docs/formats.md).

A parsed envelope has every field in its one form, its key capsule hashes to the digest beside it and its storage
locator is the one its own fields derive, so ``parse_envelope(e.canonical_bytes()) == e``. Bytes that are not canonical,
unknown or missing keys, other types or letter case, and oversize are ``invalid_solver_submission``, with all issues at
once. Agreement with the bounty is checked by ``envelope_checks``, what is sealed inside by ``crypto``.
"""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from typing import Annotated, Final

from bounty_protocol.domain.challenge.commitments import submission_commitment
from bounty_protocol.domain.challenge.field_reader import FieldReader, issue
from bounty_protocol.domain.envelope.binding import Binding
from bounty_protocol.domain.envelope.canonical_json import MAX_SAFE_INTEGER, canonical_bytes, parse_canonical
from bounty_protocol.domain.envelope.locator import storage_locator
from bounty_protocol.domain.envelope.public_keys import parse_public_key
from bounty_protocol.domain.envelope.reveal import RevealPolicy
from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.shapes import Note, to_json
from bounty_protocol.types import Address, BountyId, Bytes32, ChainId, UnixSeconds, bytes32, parse_bounty_id

VERSION: Final = 2
"""The only version. Version 1, whose seals did not name their bounty and Solver, is not read."""
MODE: Final = "drand_tlock"
MAX_ENVELOPE_BYTES: Final = 64 * 1024
MAX_CAPSULE_BYTES: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class CiphertextReference:
    """The uploaded age file: digest, length and place."""

    sha256: Bytes32
    byte_length: int
    storage_locator: str


@dataclass(frozen=True, slots=True)
class Envelope:
    """All that a Submission commits to; ``key_capsule`` is base64 in JSON."""

    version: Annotated[int, Note(minimum=VERSION, maximum=VERSION)]
    mode: str
    chain_id: ChainId
    hub_address: Address
    bounty_id: BountyId
    solver_address: Address
    spec_commitment: Bytes32
    guardian_roster_hash: Bytes32
    recipients_commitment: Bytes32
    reveal_policy: RevealPolicy
    content_public_key: Bytes32
    key_capsule: bytes
    key_capsule_sha256: Bytes32
    ciphertext: CiphertextReference

    @property
    def binding(self) -> Binding:
        """The bounty and Solver that the envelope names."""
        return Binding(self.chain_id, self.hub_address, self.bounty_id, self.solver_address)

    def to_json(self) -> dict[str, object]:
        """Return the JSON object, key names of docs/formats.md."""
        return to_json(self)

    def canonical_bytes(self) -> bytes:
        """Return the bytes that are stored, served and committed to."""
        return canonical_bytes(self.to_json())

    def commitment(self) -> Bytes32:
        """Return the Submission's commitment."""
        return submission_commitment(self.canonical_bytes())


def build_envelope(
    *,
    binding: Binding,
    spec_commitment: Bytes32,
    guardian_roster_hash: Bytes32,
    recipients_commitment: Bytes32,
    reveal_policy: RevealPolicy,
    content_public_key: Bytes32,
    key_capsule: bytes,
    ciphertext_sha256: Bytes32,
    ciphertext_byte_length: int,
) -> Envelope:
    """Return an envelope with its derived fields (capsule digest, storage locator) filled in; ``binding`` as it was
    sealed.
    """
    names = (binding.chain_id, binding.hub_address, binding.bounty_id, binding.solver_address)
    locator = storage_locator(*names, ciphertext_sha256)
    return Envelope(
        version=VERSION,
        mode=MODE,
        chain_id=binding.chain_id,
        hub_address=binding.hub_address,
        bounty_id=binding.bounty_id,
        solver_address=binding.solver_address,
        spec_commitment=spec_commitment,
        guardian_roster_hash=guardian_roster_hash,
        recipients_commitment=recipients_commitment,
        reveal_policy=reveal_policy,
        content_public_key=content_public_key,
        key_capsule=key_capsule,
        key_capsule_sha256=bytes32(hashlib.sha256(key_capsule).digest()),
        ciphertext=CiphertextReference(ciphertext_sha256, ciphertext_byte_length, locator),
    )


def parse_envelope(data: bytes) -> Envelope:
    """Read an envelope or raise ``invalid_solver_submission`` with all issues."""
    try:
        value = parse_canonical(data, MAX_ENVELOPE_BYTES)
    except ValueError as error:
        raise _invalid([issue("envelope", f"must be canonical JSON: {error}")]) from None
    if not isinstance(value, dict):
        raise _invalid([issue("envelope", "must be a JSON object")])
    reader = FieldReader(value)
    envelope = _read(reader)
    issues = reader.finish() or _internal_differences(envelope)
    if issues:
        raise _invalid(issues)
    return envelope


def _read(reader: FieldReader) -> Envelope:
    policy, ciphertext = reader.section("reveal_policy"), reader.section("ciphertext")
    envelope = Envelope(
        version=reader.integer("version", VERSION, VERSION),
        mode=reader.text("mode", _mode),
        chain_id=ChainId(reader.integer("chain_id", 1, MAX_SAFE_INTEGER)),
        hub_address=reader.text("hub_address", _lower_address),
        bounty_id=reader.text("bounty_id", parse_bounty_id),
        solver_address=reader.text("solver_address", _lower_address),
        spec_commitment=reader.text("spec_commitment", _lower_bytes32),
        guardian_roster_hash=reader.text("guardian_roster_hash", _lower_bytes32),
        recipients_commitment=reader.text("recipients_commitment", _lower_bytes32),
        reveal_policy=RevealPolicy(
            beacon_chain_hash=policy.text("beacon_chain_hash", _lower_bytes32),
            round=policy.integer("round", 1, MAX_SAFE_INTEGER),
            reveal_at=UnixSeconds(policy.integer("reveal_at", 1, MAX_SAFE_INTEGER)),
        ),
        content_public_key=reader.text("content_public_key", lambda text: parse_public_key(_lower_bytes32(text))),
        key_capsule=reader.text("key_capsule", _capsule),
        key_capsule_sha256=reader.text("key_capsule_sha256", _lower_bytes32),
        ciphertext=CiphertextReference(
            sha256=ciphertext.text("sha256", _lower_bytes32),
            byte_length=ciphertext.integer("byte_length", 1, MAX_SAFE_INTEGER),
            storage_locator=ciphertext.text("storage_locator", str),
        ),
    )
    policy.finish()
    ciphertext.finish()
    return envelope


def _internal_differences(envelope: Envelope) -> list[Issue]:
    issues = []
    if bytes32(hashlib.sha256(envelope.key_capsule).digest()) != envelope.key_capsule_sha256:
        issues.append(Issue("key_capsule_sha256", "is not the SHA-256 of key_capsule"))
    locator = storage_locator(
        envelope.chain_id,
        envelope.hub_address,
        envelope.bounty_id,
        envelope.solver_address,
        envelope.ciphertext.sha256,
    )
    if envelope.ciphertext.storage_locator != locator:
        issues.append(Issue("ciphertext.storage_locator", f"must be {locator}"))
    return issues


def _mode(text: str) -> str:
    if text != MODE:
        raise ValueError(f"must be {MODE}")
    return text


def _lower_address(text: str) -> Address:
    if re.fullmatch("0x[0-9a-f]{40}", text) is None:
        raise ValueError("must be 0x and 40 lowercase hexadecimal digits")
    return Address(text)


def _lower_bytes32(text: str) -> Bytes32:
    if re.fullmatch("0x[0-9a-f]{64}", text) is None:
        raise ValueError("must be 0x and 64 lowercase hexadecimal digits")
    return Bytes32(text)


def _capsule(text: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("must be standard padded base64") from None
    if base64.b64encode(data).decode() != text:
        raise ValueError("must be canonical base64 (no spare bits)")
    if not 1 <= len(data) <= MAX_CAPSULE_BYTES:
        raise ValueError(f"must hold 1 to {MAX_CAPSULE_BYTES} bytes")
    return data


def _invalid(issues: list[Issue]) -> ServiceError:
    return ServiceError("invalid_solver_submission", "the envelope is not in the required form", issues=issues)
