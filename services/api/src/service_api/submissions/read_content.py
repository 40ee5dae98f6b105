"""Submissions' envelopes and short-lived URLs of their ciphertexts, for the Poster or a pinned Guardian.

Who may read comes from the index; knowing a commitment is not access. What is served is
recorded on chain: the active Submission, the winner, or one whose replacement is not final yet (``active: false``).
Stored bytes that no longer hash to the commitment are never served, and the URL names the very generation whose bytes
were verified: an object that was altered or replaced is verified again before anyone gets it. What the index shows of
one Submission is at most two seconds old, and so is that the storage has the object (``api.signed_get`` of the
benchmarks); a download URL is at most half its life old, since signing one may take a request to a provider.

Many of one bounty are read by one request, each as if it was read alone, and counted as so many requests. What they may
cost beside that is bounded: nothing is hashed while the reader waits, and a storage that is silent or slow is asked for
no more of them.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bounty_protocol.auth.verify import VerifiedRequest
from bounty_protocol.clock import iso_utc
from bounty_protocol.domain.challenge.commitments import submission_commitment
from bounty_protocol.domain.envelope.document import CiphertextReference, Envelope, parse_envelope
from bounty_protocol.domain.lifecycle.bounty import Bounty
from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.shapes import to_json
from bounty_protocol.types import Address, BountyId, Bytes32
from bounty_protocol.wire.submissions import (
    MAX_CONTENTS,
    ContentOrError,
    ContentsRequest,
    SubmissionContent,
    SubmissionContents,
)
from bounty_protocol.wire.values import Timestamp
from service_common.db import app as t
from service_common.db import hub_index as h
from service_common.db.hub_facts import FactSource, HubFacts
from service_common.db.hub_reads import read_submission
from service_common.recent import Recent
from service_common.web.callers import CallerBudgets, Callers
from service_common.web.parsing import load_json
from service_common.web.problems import item_error, retry_after_of
from sqlalchemy import select

from service_api.storage.gcs import SignedUrl
from service_api.submissions.ciphertexts import Ciphertexts
from service_api.submissions.prepare_submission import is_named

CONTENTS_SECONDS: Final = 10.0
"""For how long the storage is asked for the ciphertexts of one request for many."""
DOWNLOAD_LIFETIME_SECONDS: Final = 5 * 60
CONTENT_SECONDS: Final = 1.0
MAX_KEPT: Final = 512
_OF_ONE: Final = {
    "submission_not_found",
    "solver_submission_content_invalid",
    "storage_unavailable",
    "storage_verification_pending",
}
"""Codes of errors that say nothing of the bounty's other Submissions."""


@dataclass(frozen=True, slots=True)
class _KeptContent:
    """One Submission's content, as the JSON that each reader gets, and who may read it."""

    readers: frozenset[Address]
    answer: bytes


@dataclass(frozen=True, slots=True)
class _Stored:
    """A recorded Submission without its ciphertext."""

    commitment: Bytes32
    envelope: Envelope
    text: str
    active: bool

    def content(self, target: SignedUrl) -> SubmissionContent:
        return SubmissionContent(
            envelope=self.text,
            submission_commitment=self.commitment,
            solver_address=self.envelope.solver_address,
            active=self.active,
            download_url=target.url,
            expires_at=Timestamp(iso_utc(target.expires_at)),
        )


class Contents:
    """The sealed work of bounties, for those who may read it. Thread-safe."""

    def __init__(self, source: FactSource, ciphertexts: Ciphertexts, callers: Callers, limits: CallerBudgets) -> None:
        self._source, self._ciphertexts, self._callers, self._limits = source, ciphertexts, callers, limits
        self._contents: Recent[tuple[BountyId, Bytes32], _KeptContent] = Recent(CONTENT_SECONDS, MAX_KEPT, source.clock)
        self._downloads: Recent[tuple[str, int], SignedUrl] = Recent(
            DOWNLOAD_LIFETIME_SECONDS / 4, MAX_KEPT, source.clock
        )
        """Download URLs by storage locator and generation: none is returned that has less than half its life left."""

    def read(self, request: VerifiedRequest, bounty_id: BountyId, commitment: Bytes32) -> bytes:
        """Return the JSON body of ``content``. It is cached for a moment (``api.signed_get``); each reader is checked
        against it.
        """

        def look_up() -> _KeptContent:
            with self._source.open() as facts:
                readers, bounty = _require_reader(facts, request, bounty_id)
                stored = _stored(facts, bounty, commitment)
            ciphertext = stored.envelope.ciphertext
            target = self._download(ciphertext, may_hash=True)
            return _KeptContent(readers, json.dumps(to_json(stored.content(target)), sort_keys=True).encode())

        kept = self._contents.get((bounty_id, commitment), look_up)
        request.require_signer(kept.readers)
        return kept.answer

    def read_many(self, request: VerifiedRequest, bounty_id: BountyId) -> SubmissionContents:
        """Return the Submissions that the body names, in its order; charge the signer one request for each."""
        with self._source.open() as facts:
            _, bounty = _require_reader(facts, request, bounty_id)
            wanted = load_json(request.body, ContentsRequest, code="invalid_request").submission_commitments
            if not 1 <= len(wanted) <= MAX_CONTENTS or len(set(wanted)) != len(wanted):
                issue = Issue("submission_commitments", f"must be from one to {MAX_CONTENTS} commitments, each once")
                raise ServiceError("invalid_request", "The body does not name Submissions to read.", issues=[issue])
            if len(wanted) > 1:  # the first is counted already
                limits = self._limits
                self._callers.charge_account(limits.account, limits.address, request.signer, cost=len(wanted) - 1)
            stored = [_stored_or_error(facts, bounty, commitment) for commitment in wanted]
        return SubmissionContents(tuple(self._with_downloads(stored)))

    def _with_downloads(self, found: list[_Stored | ContentOrError]) -> Iterator[ContentOrError]:
        """Ask the storage until it fails to answer once, or its time is up."""
        clock = self._source.clock
        ends, is_away = clock.monotonic() + CONTENTS_SECONDS, False
        for each in found:
            if isinstance(each, ContentOrError):
                yield each
                continue
            ciphertext = each.envelope.ciphertext
            try:
                if is_away or clock.monotonic() > ends:
                    raise ServiceError("storage_unavailable", "The storage answers too slowly at the moment.")
                target = self._download(ciphertext, may_hash=False)
            except ServiceError as error:
                is_away = is_away or error.code == "storage_unavailable"
                yield _refused(each.commitment, error)
            else:
                yield ContentOrError(each.commitment, each.content(target))

    def _download(self, ciphertext: CiphertextReference, *, may_hash: bool) -> SignedUrl:
        """Return a URL of what the storage has now, the cached one if there is one."""
        locator = ciphertext.storage_locator
        generation = self._ciphertexts.generation_of(ciphertext, may_hash=may_hash)
        lifetime, store = DOWNLOAD_LIFETIME_SECONDS, self._ciphertexts.store
        return self._downloads.get(
            (locator, generation), lambda: store.sign_download(locator, generation=generation, lifetime=lifetime)
        )


def _require_reader(
    facts: HubFacts, request: VerifiedRequest, bounty_id: BountyId
) -> tuple[frozenset[Address], Bounty]:
    """Return who may read the sealed work of a bounty, its Poster and pinned Guardians, and the bounty; 403
    for others.
    """
    bounty = facts.bounty(bounty_id)
    readers = frozenset({bounty.terms.poster, *facts.roster(bounty).accounts})
    request.require_signer(readers)
    return readers, bounty


def _stored(facts: HubFacts, bounty: Bounty, commitment: Bytes32) -> _Stored:
    """Return a recorded Submission whose stored envelope hashes to the commitment; 404 if it was never recorded, or is
    replaced. The envelope names its Solver, even if others recorded the same commitment.
    """
    c = t.submission_envelopes.c
    found = select(c.content).where(c.bounty_id == bounty.bounty_id, c.submission_commitment == commitment)
    content = facts.connection.execute(found).scalar()
    if content is None:
        raise _not_found()
    text = bytes(content)
    if submission_commitment(text) != commitment:
        raise _altered()
    try:
        envelope = parse_envelope(text)
    except ServiceError as error:
        raise _altered() from error
    newest = read_submission(facts.connection, bounty.bounty_id, envelope.solver_address)
    is_active = newest is not None and newest.event.submission_commitment == commitment
    if not is_active and (
        newest is None
        or facts.head.is_finalized(newest.origin.block_number)
        or not is_named(facts.connection, envelope, h.submissions)
    ):
        raise _not_found()
    return _Stored(commitment, envelope, text.decode(), is_active)


def _stored_or_error(facts: HubFacts, bounty: Bounty, commitment: Bytes32) -> _Stored | ContentOrError:
    try:
        return _stored(facts, bounty, commitment)
    except ServiceError as error:
        return _refused(commitment, error)


def _refused(commitment: Bytes32, error: ServiceError) -> ContentOrError:
    """Return the item of a Submission that cannot be read; raise errors that concern more than this item."""
    if error.code not in _OF_ONE:
        raise error
    return ContentOrError(commitment, None, item_error(error), retry_after_of(error))


def _altered() -> ServiceError:
    message = "The stored envelope does not hash to the Submission's commitment."
    return ServiceError("solver_submission_content_invalid", message)


def _not_found() -> ServiceError:
    return ServiceError("submission_not_found", "This bounty has no active Submission with that commitment.")
