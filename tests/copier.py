"""Somebody who reads another Solver's sealed bytes before the deadline, and hands them in as its own."""

from bounty_protocol.domain.envelope.binding import Binding
from bounty_protocol.domain.envelope.document import Envelope, build_envelope
from bounty_protocol.types import Address


def in_own_envelope(envelope: Envelope, copier: str) -> Envelope:
    """Another Solver's capsule and ciphertext under one's own name, with a commitment of its own."""
    return build_envelope(
        binding=Binding(envelope.chain_id, envelope.hub_address, envelope.bounty_id, Address(copier)),
        spec_commitment=envelope.spec_commitment,
        guardian_roster_hash=envelope.guardian_roster_hash,
        recipients_commitment=envelope.recipients_commitment,
        reveal_policy=envelope.reveal_policy,
        content_public_key=envelope.content_public_key,
        key_capsule=envelope.key_capsule,
        ciphertext_sha256=envelope.ciphertext.sha256,
        ciphertext_byte_length=envelope.ciphertext.byte_length,
    )
