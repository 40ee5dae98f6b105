"""A one-time upload URL for a Solver's ciphertext, at a place the client derives itself.

The locator is a pure function of deployment, bounty, Solver and digest. An object already there that cannot be the
announced one is emptied by generation, so that a poisoned first upload blocks nobody; one whose bytes were verified
stays, whatever length a later request announces. Where the bytes are those of recorded work, what is in their place is
hashed first: nothing else would have other bytes of the same length removed before the Solver believes it is done.
"""

from bounty_protocol.clock import iso_utc
from bounty_protocol.domain.envelope import CiphertextReference
from bounty_protocol.domain.locator import storage_locator
from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.types import Address, BountyId
from bounty_protocol.wire.submissions import UploadTarget, UploadTargetRequest
from bounty_protocol.wire.values import Timestamp

from service_api.dependencies import Dependencies
from service_api.submissions.accepting import require_uploadable
from service_api.submissions.ciphertexts import known_good, make_place

UPLOAD_LIFETIME_SECONDS = 15 * 60
MAX_CIPHERTEXT_BYTES = 1024 * 1024 * 1024


def make_upload_target(
    deps: Dependencies, bounty_id: BountyId, solver: Address, wanted: UploadTargetRequest
) -> UploadTarget:
    """The body of ``artifact-upload-url``."""
    if wanted.ciphertext_byte_length > MAX_CIPHERTEXT_BYTES:
        issue = Issue("ciphertext_byte_length", f"must be at most {MAX_CIPHERTEXT_BYTES}")
        raise ServiceError("invalid_solver_submission", "The ciphertext is too large.", issues=[issue])
    chain = deps.config.chain
    locator = storage_locator(chain.chain_id, chain.hub_address, bounty_id, solver, wanted.ciphertext_sha256)
    with deps.facts.open() as facts:
        bounty = facts.bounty(bounty_id)
        is_recorded = require_uploadable(facts, bounty, solver, locator, wanted.ciphertext_byte_length)
    if is_recorded:
        make_place(deps, CiphertextReference(wanted.ciphertext_sha256, wanted.ciphertext_byte_length, locator))
    else:
        _clear_impostor(deps, locator, wanted.ciphertext_byte_length)
    target = deps.store.sign_upload(
        locator,
        sha256=wanted.ciphertext_sha256,
        byte_length=wanted.ciphertext_byte_length,
        lifetime=UPLOAD_LIFETIME_SECONDS,
    )
    return UploadTarget(
        upload_url=target.url,
        upload_method=target.method,
        upload_headers=dict(target.headers),
        expires_at=Timestamp(iso_utc(target.expires_at)),
        storage_locator=locator,
    )


def _clear_impostor(deps: Dependencies, locator: str, byte_length: int) -> None:
    """Remove an object whose length alone shows that it is not the announced one."""
    found = deps.store.stat(locator)
    if found is None or (not found.encoded and found.byte_length == byte_length):
        return
    if (known := known_good(deps, found)) is not None:
        issue = Issue(
            "ciphertext_byte_length", f"must be {known.reference.byte_length}: that ciphertext is in place already"
        )
        raise ServiceError("invalid_solver_submission", "The digest belongs to another length.", issues=[issue])
    deps.store.empty(locator, generation=found.generation)
