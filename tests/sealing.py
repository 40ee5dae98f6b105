"""Sealing for a bounty as a program does that has the formats alone, and the API's words about the bounty."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bounty_protocol.crypto.artifact import SealedArtifact, seal_directory
from bounty_protocol.crypto.beacon_info import BeaconInfo
from bounty_protocol.crypto.capsule import seal_capsule
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.envelope.binding import Binding
from bounty_protocol.domain.envelope.document import Envelope, build_envelope
from bounty_protocol.domain.lifecycle.roster import Roster
from bounty_protocol.types import Bytes32, UnixSeconds
from bounty_protocol.wire.reading import read


def seal_for(
    binding: Binding, detail: Mapping[str, Any], directory: Path, file: Path, beacon: BeaconInfo
) -> tuple[SealedArtifact, Envelope]:
    """Seal a folder into ``file`` for the bounty of ``detail``, the answer of ``GET /api/bounties/{bounty_id}``."""
    identity, facts, roster = Identity.generate(), detail["facts"], read(Roster, detail["guardian_roster"])
    sealed = seal_directory(directory, identity.public_key, binding, file)
    policy = beacon.reveal_policy(UnixSeconds(facts["reveal_at"]))
    envelope = build_envelope(
        binding=binding,
        spec_commitment=Bytes32(facts["spec_commitment"]),
        guardian_roster_hash=roster.guardian_roster_hash,
        recipients_commitment=roster.recipients_commitment,
        reveal_policy=policy,
        content_public_key=identity.public_key,
        key_capsule=seal_capsule(identity, binding, roster.encryption_public_keys, policy.round, beacon),
        ciphertext_sha256=sealed.sha256,
        ciphertext_byte_length=sealed.byte_length,
    )
    return sealed, envelope
