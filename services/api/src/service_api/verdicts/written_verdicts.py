"""Written Verdicts: the exact bytes behind a report commitment.

A document is stored only when a pinned Guardian of the named bounty signed the request, the document names this
deployment and that Guardian, and either the bounty is judgeable and an awarded Submission its Solver's current active
one, or the Hub already holds exactly this Verdict of that Guardian (reasons submitted later). A Guardian's documents
for a bounty that the Hub does not record are few; one that it records always has a place. Anyone reads a document back
byte for byte, and never when the stored bytes no longer hash to the commitment.
"""

from dataclasses import dataclass
from typing import Final

from bounty_protocol.auth.verify import VerifiedRequest
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.domain.challenge.commitments import report_commitment
from bounty_protocol.domain.lifecycle.states import VerdictKind
from bounty_protocol.domain.verdict import WrittenVerdict, parse_verdict
from bounty_protocol.errors import Issue, ServiceError, state_refusal
from bounty_protocol.types import ZERO_ADDRESS, ZERO_BYTES32, Bytes32, UnixSeconds
from prometheus_client import Counter
from service_common.db import app as t
from service_common.db import hub_index as h
from service_common.db.engine import writing
from service_common.db.hub_facts import FactSource, HubFacts
from sqlalchemy import Engine, exists, func, select, text
from sqlalchemy.dialects.postgresql import insert

from service_api.moderation.texts import verdict_notice, verdict_withheld, withheld_of

VERDICTS: Final = Counter("service_written_verdicts_total", "Written Verdicts stored for the first time")
_CODE: Final = "invalid_written_verdict"
MAX_UNRECORDED_VERDICTS: Final = 8
"""Documents of a Guardian for a bounty that the Hub does not record."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What keeping a written Verdict needs: the index, and the chain, whose newest block may be asked for."""

    source: FactSource
    rpc: Rpc

    def write(self, request: VerifiedRequest, commitment: Bytes32) -> bool:
        """Store a written Verdict; return whether the document is new here."""
        document = parse_verdict(request.body)
        with self.source.open() as facts:
            bounty = facts.bounty(document.bounty_id)
            request.require_signer(facts.roster(bounty).accounts)
            _check_document(self.source, request, document, commitment)
            is_early = _is_early(facts, document, commitment)
        if is_early:
            raise _before_reveal(self.rpc, bounty.terms.reveal_at)
        is_new = store_verdict(self.source.engine, document, request.body)
        if is_new:
            VERDICTS.inc()
        return is_new


def store_verdict(engine: Engine, document: WrittenVerdict, content: bytes) -> bool:
    """Return whether the row is new."""
    place, commitment = f"{document.bounty_id}/{document.guardian_address}", report_commitment(content)
    of = {"bounty_id": document.bounty_id, "guardian": document.guardian_address}
    statement = insert(t.written_verdicts).values(of | {"report_commitment": commitment, "content": content})
    with writing(engine) as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(:place, 9))"), {"place": place})
        row = statement.on_conflict_do_nothing().returning(t.written_verdicts.c.bounty_id)
        if connection.execute(row).first() is None:
            return False
        w, v = t.written_verdicts.c, h.verdicts.c
        mine = (w.bounty_id == document.bounty_id) & (w.guardian == document.guardian_address)
        recorded = exists().where(
            v.bounty_id == w.bounty_id, v.guardian == w.guardian, v.report_commitment == w.report_commitment
        )
        unrecorded = select(func.count(), func.bool_or(w.report_commitment == commitment)).where(mine, ~recorded)
        count, is_one_of_them = connection.execute(unrecorded).one()
        if not is_one_of_them or count <= MAX_UNRECORDED_VERDICTS:
            return True
        raise ServiceError(  # which undoes what is written here
            _CODE,
            f"This Guardian has stored {MAX_UNRECORDED_VERDICTS} Verdicts here that the Hub does not record.",
            next_action="Record one of them, or record this one first (guardian:verdict --unpublished FILE) and "
            "publish it afterwards.",
        )


def read_verdict(source: FactSource, commitment: Bytes32) -> bytes:
    """Return the document behind a commitment."""
    c = t.written_verdicts.c
    notice = verdict_notice(c.report_commitment, c.guardian).label("notice")
    with source.open() as facts:
        stored = facts.connection.execute(select(c.content, notice).where(c.report_commitment == commitment)).first()
    if stored is None or report_commitment(bytes(stored.content)) != commitment:
        raise no_such_verdict()
    if (withheld := withheld_of(stored.notice)) is not None:
        raise verdict_withheld(withheld)
    return bytes(stored.content)


def no_such_verdict() -> ServiceError:
    """Return the error for a commitment without a stored document."""
    return ServiceError("written_verdict_not_found", "No written Verdict with that commitment is stored here.")


def _check_document(
    source: FactSource, request: VerifiedRequest, document: WrittenVerdict, commitment: Bytes32
) -> None:
    compared = (
        ("report_commitment", report_commitment(request.body), commitment, "the path is not the hash of these bytes"),
        ("chain_id", document.chain_id, source.chain_id, "is not this deployment's chain"),
        ("hub_address", document.hub_address, source.hub_address, "is not this deployment's Hub"),
        ("guardian_address", document.guardian_address, request.signer, "is not the Guardian who signed"),
    )
    issues = [Issue(path, message) for path, ours, theirs, message in compared if ours != theirs]
    if issues:
        raise ServiceError(_CODE, "The Verdict does not fit this request.", issues=issues)


def _is_early(facts: HubFacts, document: WrittenVerdict, commitment: Bytes32) -> bool:
    """Return whether the copy is before the bounty's reveal point; else require that the bounty is judgeable and the
    named Submission active, or this Verdict is already on chain.
    """
    bounty = facts.bounty(document.bounty_id)
    terms = bounty.terms
    if _is_recorded(facts, document, commitment):
        return False
    if facts.ending(bounty) is not None:
        raise state_refusal(_CODE, "The bounty is final; no further Verdict counts.")
    at = facts.head.block_time
    if at < terms.reveal_at:
        return True
    if at >= terms.judging_deadline:
        raise state_refusal(_CODE, "The bounty's judging window is over; no further Verdict counts.")
    if document.kind is VerdictKind.AWARDED and document.solver_address is not None:
        active = facts.active_submission(document.bounty_id, document.solver_address)
        if active is None or active.event.submission_commitment != document.submission_commitment:
            raise state_refusal(_CODE, "The named Submission is not that Solver's active one.")
    return False


def _before_reveal(rpc: Rpc, reveal_at: UnixSeconds) -> ServiceError:
    """Return why no Verdict is accepted before the reveal point of the copy. The chain shows whether the copy is behind
    or the Guardian is early; it may answer slowly, so no database connection is held meanwhile.
    """
    if header_at(rpc, "latest").time >= reveal_at:
        message = "The indexed Hub state has not reached the bounty's reveal point yet."
        return ServiceError("bounty_chain_state_unavailable", message, retry_after=1)
    return state_refusal(_CODE, "The bounty's reveal point is not reached yet; nobody can have opened the work.")


def _is_recorded(facts: HubFacts, document: WrittenVerdict, commitment: Bytes32) -> bool:
    """Return whether the Hub holds this Guardian's Verdict with this commitment and the document's content."""
    v = h.verdicts.c
    stated = exists().where(
        v.bounty_id == document.bounty_id,
        v.guardian == document.guardian_address,
        v.kind == document.kind.number,
        v.solver == (document.solver_address or ZERO_ADDRESS),
        v.submission_commitment == (document.submission_commitment or ZERO_BYTES32),
        v.report_commitment == commitment,
        v.block_number <= facts.head.finalized_number,
    )
    return bool(facts.connection.execute(select(stated)).scalar_one())
