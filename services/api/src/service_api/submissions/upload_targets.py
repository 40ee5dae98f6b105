"""A one-time upload URL for a Solver's ciphertext, at a place the client derives itself.

The locator is a pure function of deployment, bounty, Solver and digest. An object already there that cannot be the
announced one is emptied by generation, so that a poisoned first upload blocks nobody; one whose bytes were verified
stays, whatever length a later request announces. Where the bytes are those of recorded work, what is in their place is
hashed first: nothing else would have other bytes of the same length removed before the Solver believes it is done.
"""

from bounty_protocol.clock import iso_utc
from bounty_protocol.domain.envelope.document import CiphertextReference, parse_envelope
from bounty_protocol.domain.envelope.locator import storage_locator
from bounty_protocol.domain.lifecycle.bounty import Bounty
from bounty_protocol.errors import Issue, ServiceError, state_refusal
from bounty_protocol.types import Address, BountyId
from bounty_protocol.wire.submissions import UploadTarget, UploadTargetRequest
from bounty_protocol.wire.values import Timestamp
from service_common.db import app as t
from service_common.db.hub_facts import FactSource, HubFacts
from service_common.db.hub_reads import read_submission
from sqlalchemy import select

from service_api.submissions.ciphertexts import Ciphertexts

UPLOAD_LIFETIME_SECONDS = 15 * 60
MAX_CIPHERTEXT_BYTES = 1024 * 1024 * 1024


def make_upload_target(
    source: FactSource, ciphertexts: Ciphertexts, bounty_id: BountyId, solver: Address, wanted: UploadTargetRequest
) -> UploadTarget:
    """Return the body of ``artifact-upload-url``."""
    byte_length = wanted.ciphertext_byte_length
    if byte_length > MAX_CIPHERTEXT_BYTES:
        issue = Issue("ciphertext_byte_length", f"must be at most {MAX_CIPHERTEXT_BYTES}")
        raise ServiceError("invalid_solver_submission", "The ciphertext is too large.", issues=[issue])
    locator = storage_locator(source.chain_id, source.hub_address, bounty_id, solver, wanted.ciphertext_sha256)
    announced = CiphertextReference(wanted.ciphertext_sha256, byte_length, locator)
    with source.open() as facts:
        bounty = facts.bounty(bounty_id)
        is_recorded = _is_recorded(facts, bounty, announced, solver)
        if not is_recorded:
            require_accepting(facts, bounty)
    if is_recorded:
        ciphertexts.make_place(announced)
    else:
        ciphertexts.clear_impostor(announced)
    target = ciphertexts.store.sign_upload(
        locator, sha256=wanted.ciphertext_sha256, byte_length=byte_length, lifetime=UPLOAD_LIFETIME_SECONDS
    )
    return UploadTarget(
        upload_url=target.url,
        upload_method="PUT",
        upload_headers=dict(target.headers),
        expires_at=Timestamp(iso_utc(target.expires_at)),
        storage_locator=locator,
    )


def require_accepting(facts: HubFacts, bounty: Bounty) -> None:
    """Refuse unless the bounty is open and before its submission deadline."""
    if not _accepts(facts, bounty):
        raise state_refusal("invalid_solver_submission", "The bounty does not accept Submissions any more.")


def _accepts(facts: HubFacts, bounty: Bounty) -> bool:
    return bounty.terms.schedule.accepting(bounty.status, facts.head.block_time)


def _is_recorded(facts: HubFacts, bounty: Bounty, announced: CiphertextReference, solver: Address) -> bool:
    """Return whether the bytes are those of the Solver's recorded Submission, which may be uploaded after the deadline,
    too: the storage may have lost them, and that must not keep anyone from judging or opening the work.
    """
    # A recorded one that is not final yet keeps nobody from replacing it.
    if _accepts(facts, bounty):
        submission = read_submission(facts.connection, bounty.bounty_id, solver)
    else:
        submission = facts.active_submission(bounty.bounty_id, solver)
    if submission is None:
        return False
    e = t.submission_envelopes.c
    of_it = e.submission_commitment == submission.event.submission_commitment
    found = select(e.content).where(e.bounty_id == bounty.bounty_id, e.solver == solver, of_it)
    content = facts.connection.execute(found).scalar()
    if content is None:
        return False
    ciphertext = parse_envelope(bytes(content)).ciphertext
    return (ciphertext.storage_locator, ciphertext.byte_length) == (announced.storage_locator, announced.byte_length)
