"""A Submission's envelope and a short-lived URL of its ciphertext, for the Poster or a pinned Guardian.

Who may read comes from the index, held against the Hub itself; knowing a commitment is not access. What is served is
recorded on chain: the active Submission, the winner, or one whose replacement is not final yet (``active: false``).
Stored bytes that no longer hash to the commitment are never served, and the URL names the very generation whose bytes
were verified: an object that was altered or replaced is verified again before anyone gets it. What the index shows of
one Submission is at most two seconds old, and so is that the storage has the object; a download URL is at most half its
life old.
"""

import json

from bounty_protocol.auth.verify import VerifiedRequest
from bounty_protocol.clock import iso_utc
from bounty_protocol.domain.bounty import Bounty
from bounty_protocol.domain.envelope import CiphertextReference, Envelope, parse_envelope
from bounty_protocol.errors import ServiceError
from bounty_protocol.shapes import to_json
from bounty_protocol.types import Address, BountyId, Bytes32
from bounty_protocol.wire.submissions import SubmissionContent
from bounty_protocol.wire.values import Timestamp
from service_common.db import app as t
from service_common.db.hub_facts import HubFacts
from service_common.db.hub_reads import read_submission_history
from sqlalchemy import Connection, select

from service_api.dependencies import DOWNLOAD_LIFETIME_SECONDS, Dependencies, KeptDownload, SharedContent
from service_api.storage.port import DownloadTarget
from service_api.usecases.ciphertexts import generation_of


def read_content(deps: Dependencies, request: VerifiedRequest, bounty_id: BountyId, commitment: Bytes32) -> bytes:
    """The JSON body of ``content``.

    What the index shows of one Submission is kept for a moment; each reader is checked against it.
    """
    shared = deps.contents.get((bounty_id, commitment), lambda: _look_up(deps, request, bounty_id, commitment))
    request.require_signer(shared.readers)
    return shared.answer


def _look_up(deps: Dependencies, request: VerifiedRequest, bounty_id: BountyId, commitment: Bytes32) -> SharedContent:
    with deps.facts.open() as facts:
        bounty = facts.bounty(bounty_id)
        roster, final = facts.roster(bounty), facts.head.finalized_number
        readers = frozenset({bounty.terms.poster, *roster.accounts})
        request.require_signer(readers)
        envelope, text = _envelope(facts.connection, bounty_id, commitment)
        active = _is_active(facts, bounty, envelope.solver_address, commitment)
    deps.witness.require_readers(bounty, roster, final)
    target = _download(deps, envelope.ciphertext)
    answer = SubmissionContent(
        envelope=text,
        submission_commitment=commitment,
        solver_address=envelope.solver_address,
        active=active,
        download_url=target.url,
        expires_at=Timestamp(iso_utc(target.expires_at)),
    )
    return SharedContent(readers, json.dumps(to_json(answer), sort_keys=True).encode())


def _download(deps: Dependencies, ciphertext: CiphertextReference) -> DownloadTarget:
    """The kept URL, as long as the storage has what it names; while the storage is away, as long as it is young."""
    locator = ciphertext.storage_locator
    try:
        generation = generation_of(deps, ciphertext)
    except ServiceError as error:
        kept = deps.downloads.young(locator) if error.code == "storage_unavailable" else None
        if kept is None:
            raise
        return kept.target
    kept = deps.downloads.get(locator, lambda: _signed(deps, locator, generation))
    return (kept if kept.generation == generation else _signed(deps, locator, generation)).target


def _signed(deps: Dependencies, locator: str, generation: int) -> KeptDownload:
    target = deps.store.sign_download(locator, generation=generation, lifetime=DOWNLOAD_LIFETIME_SECONDS)
    return KeptDownload(generation, target)


def _is_active(facts: HubFacts, bounty: Bounty, solver: Address, commitment: Bytes32) -> bool:
    """Whether this Solver's Submission is still the active one; 404 where it was never recorded, or is replaced."""
    history = read_submission_history(facts.connection, bounty.bounty_id, solver)
    if not any(submission.event.submission_commitment == commitment for submission in history):
        raise _not_found()
    if history[-1].event.submission_commitment == commitment:
        return True
    if facts.head.is_finalized(history[-1].origin.block_number):
        raise _not_found()
    return False


def _envelope(connection: Connection, bounty_id: BountyId, commitment: Bytes32) -> tuple[Envelope, str]:
    """The stored envelope that hashes to the commitment: it names its Solver, even if others recorded the value."""
    c = t.submission_envelopes.c
    stored = connection.execute(
        select(c.content, c.solver).where(c.bounty_id == bounty_id, c.submission_commitment == commitment)
    ).first()
    if stored is None:
        raise _not_found()
    text = bytes(stored.content)
    try:
        envelope = parse_envelope(text)
    except ServiceError as error:
        raise _altered() from error
    if envelope.commitment() != commitment or envelope.solver_address != stored.solver:
        raise _altered()
    return envelope, text.decode()


def _altered() -> ServiceError:
    return ServiceError(
        "solver_submission_content_invalid", "The stored envelope does not hash to the Submission's commitment."
    )


def _not_found() -> ServiceError:
    return ServiceError("submission_not_found", "This bounty has no current Submission with that commitment here.")
