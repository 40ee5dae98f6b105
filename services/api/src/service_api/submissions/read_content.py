"""Submissions' envelopes and short-lived URLs of their ciphertexts, for the Poster or a pinned Guardian.

Who may read comes from the index; knowing a commitment is not access. What is served is
recorded on chain: the active Submission, the winner, or one whose replacement is not final yet (``active: false``).
Stored bytes that no longer hash to the commitment are never served, and the URL names the very generation whose bytes
were verified: an object that was altered or replaced is verified again before anyone gets it. What the index shows of
one Submission is at most two seconds old, and so is that the storage has the object; a download URL is at most half its
life old.

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
from bounty_protocol.domain.bounty import Bounty
from bounty_protocol.domain.envelope import CiphertextReference, Envelope, parse_envelope
from bounty_protocol.domain.roster import Roster
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
from service_common.db.hub_facts import HubFacts
from service_common.db.hub_reads import read_submission_history
from service_common.web.parsing import load_json
from service_common.web.problems import item_error, retry_after_of
from sqlalchemy import Connection, select

from service_api.dependencies import DOWNLOAD_LIFETIME_SECONDS, Dependencies, KeptDownload, SharedContent
from service_api.storage.port import DownloadTarget
from service_api.submissions.ciphertexts import generation_of

CONTENTS_SECONDS: Final = 10.0
"""For how long the storage is asked for the ciphertexts of one request for many."""
_OF_ONE: Final = {
    "submission_not_found",
    "solver_submission_content_invalid",
    "storage_unavailable",
    "storage_verification_pending",
}
"""Errors that say nothing of the bounty's other Submissions."""


def read_content(deps: Dependencies, request: VerifiedRequest, bounty_id: BountyId, commitment: Bytes32) -> bytes:
    """The JSON body of ``content``.

    What the index shows of one Submission is kept for a moment; each reader is checked against it.
    """
    shared = deps.contents.get((bounty_id, commitment), lambda: _look_up(deps, request, bounty_id, commitment))
    request.require_signer(shared.readers)
    return shared.answer


def read_contents(deps: Dependencies, request: VerifiedRequest, bounty_id: BountyId) -> SubmissionContents:
    """The Submissions that the body names, in its order; counted for the signer as one request each."""
    with deps.facts.open() as facts:
        readers = _Readers.of(facts, bounty_id)
        request.require_signer(readers.accounts)
        wanted = _wanted(request.body)
        if len(wanted) > 1:  # the first is counted already
            limits = deps.config.budgets
            deps.callers.charge_account(limits.account, limits.address, request.signer, cost=len(wanted) - 1)
        stored = [_stored_or_error(facts, readers.bounty, commitment) for commitment in wanted]
    return SubmissionContents(tuple(_with_downloads(deps, stored)))


def _wanted(body: bytes) -> tuple[Bytes32, ...]:
    wanted = load_json(body, ContentsRequest, code="invalid_request").submission_commitments
    if not 1 <= len(wanted) <= MAX_CONTENTS or len(set(wanted)) != len(wanted):
        issue = Issue("submission_commitments", f"must be from one to {MAX_CONTENTS} commitments, each once")
        raise ServiceError("invalid_request", "The body does not name Submissions to read.", issues=[issue])
    return wanted


@dataclass(frozen=True, slots=True)
class _Readers:
    """Who may read the sealed work of a bounty."""

    bounty: Bounty
    roster: Roster

    @staticmethod
    def of(facts: HubFacts, bounty_id: BountyId) -> "_Readers":
        bounty = facts.bounty(bounty_id)
        return _Readers(bounty, facts.roster(bounty))

    @property
    def accounts(self) -> frozenset[Address]:
        return frozenset({self.bounty.terms.poster, *self.roster.accounts})


@dataclass(frozen=True, slots=True)
class _Stored:
    """A recorded Submission without its ciphertext."""

    commitment: Bytes32
    envelope: Envelope
    text: str
    active: bool

    @staticmethod
    def of(facts: HubFacts, bounty: Bounty, commitment: Bytes32) -> "_Stored":
        envelope, text = _envelope(facts.connection, bounty.bounty_id, commitment)
        return _Stored(commitment, envelope, text, _is_active(facts, bounty, envelope.solver_address, commitment))

    def content(self, target: DownloadTarget) -> SubmissionContent:
        return SubmissionContent(
            envelope=self.text,
            submission_commitment=self.commitment,
            solver_address=self.envelope.solver_address,
            active=self.active,
            download_url=target.url,
            expires_at=Timestamp(iso_utc(target.expires_at)),
        )


def _look_up(deps: Dependencies, request: VerifiedRequest, bounty_id: BountyId, commitment: Bytes32) -> SharedContent:
    with deps.facts.open() as facts:
        readers = _Readers.of(facts, bounty_id)
        request.require_signer(readers.accounts)
        stored = _Stored.of(facts, readers.bounty, commitment)
    answer = stored.content(_download(deps, stored.envelope.ciphertext))
    return SharedContent(readers.accounts, json.dumps(to_json(answer), sort_keys=True).encode())


def _stored_or_error(facts: HubFacts, bounty: Bounty, commitment: Bytes32) -> _Stored | ContentOrError:
    try:
        return _Stored.of(facts, bounty, commitment)
    except ServiceError as error:
        return _refused(commitment, error)


def _refused(commitment: Bytes32, error: ServiceError) -> ContentOrError:
    """The item of a Submission that cannot be read; what is wrong with more than it is raised."""
    if error.code not in _OF_ONE:
        raise error
    return ContentOrError(commitment, None, item_error(error), retry_after_of(error))


def _with_downloads(deps: Dependencies, found: list[_Stored | ContentOrError]) -> Iterator[ContentOrError]:
    """The storage is asked until it is silent once, or its time is over; then what is kept has to do."""
    ends, is_away = deps.clock.monotonic() + CONTENTS_SECONDS, False
    for each in found:
        if isinstance(each, ContentOrError):
            yield each
            continue
        ciphertext = each.envelope.ciphertext
        try:
            if is_away or deps.clock.monotonic() > ends:
                raise ServiceError("storage_unavailable", "The storage answers too slowly at the moment.")
            target = _confirmed_download(deps, ciphertext, may_hash=False)
        except ServiceError as error:
            is_away = is_away or error.code == "storage_unavailable"
            if (kept := _kept_download(deps, ciphertext, error)) is None:
                yield _refused(each.commitment, error)
                continue
            target = kept
        yield ContentOrError(each.commitment, each.content(target))


def _download(deps: Dependencies, ciphertext: CiphertextReference) -> DownloadTarget:
    """The kept URL, as long as the storage has what it names; while the storage is away, as long as it is young."""
    try:
        return _confirmed_download(deps, ciphertext, may_hash=True)
    except ServiceError as error:
        if (kept := _kept_download(deps, ciphertext, error)) is None:
            raise
        return kept


def _confirmed_download(deps: Dependencies, ciphertext: CiphertextReference, *, may_hash: bool) -> DownloadTarget:
    locator = ciphertext.storage_locator
    generation = generation_of(deps, ciphertext, may_hash=may_hash)
    kept = deps.downloads.get(locator, lambda: _signed(deps, locator, generation))
    return (kept if kept.generation == generation else _signed(deps, locator, generation)).target


def _kept_download(deps: Dependencies, ciphertext: CiphertextReference, error: ServiceError) -> DownloadTarget | None:
    """A young URL, where the storage did not answer."""
    kept = deps.downloads.young(ciphertext.storage_locator) if error.code == "storage_unavailable" else None
    return None if kept is None else kept.target


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
