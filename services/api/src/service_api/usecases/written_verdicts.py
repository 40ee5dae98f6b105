"""Written Verdicts: the exact bytes behind a report commitment.

Promises: stored only when a pinned Guardian of the named bounty signed the request, the document names this
deployment and that Guardian, and an awarded Submission is its Solver's current active one; read back byte for byte by
anyone, never when the stored bytes no longer hash to the commitment.
"""

from service_common.auth.verify import VerifiedRequest
from service_common.db import app as t
from service_common.db.engine import reading, writing
from service_common.db.hub_facts import HubFacts
from service_common.domain.commitments import report_commitment
from service_common.domain.lifecycle import VerdictKind
from service_common.domain.verdict import WrittenVerdict, parse_verdict
from service_common.errors import Issue, ServiceError, state_refusal
from service_common.types import Bytes32
from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert

from service_api.dependencies import Dependencies


def write_verdict(deps: Dependencies, request: VerifiedRequest, commitment: Bytes32) -> tuple[dict[str, object], bool]:
    """The body of the write, and whether the document is new here."""
    document = parse_verdict(request.body)
    with deps.facts.open() as facts:
        bounty = facts.bounty(document.bounty_id)
        request.require_signer(facts.roster(bounty).accounts)
        _check_document(deps, request, document, commitment)
        _check_state(facts, document)
    values = {
        "report_commitment": commitment,
        "content": request.body,
        "bounty_id": document.bounty_id,
        "guardian": request.signer,
    }
    with writing(deps.engine) as connection:
        statement = insert(t.written_verdicts).values(values)
        kept = connection.execute(statement.on_conflict_do_nothing().returning(t.written_verdicts.c.bounty_id)).first()
        if kept is None:
            key = [t.written_verdicts.c.report_commitment]
            connection.execute(statement.on_conflict_do_update(index_elements=key, set_={"content": request.body}))
    return {"report_commitment": commitment, "byte_length": len(request.body)}, kept is not None


def read_verdict(deps: Dependencies, commitment: Bytes32) -> bytes:
    """The document behind a commitment."""
    c = t.written_verdicts.c
    with reading(deps.engine) as connection:
        stored = connection.execute(select(c.content).where(c.report_commitment == commitment)).scalar()
    if stored is None or report_commitment(bytes(stored)) != commitment:
        raise ServiceError("written_verdict_not_found", "No written Verdict with that commitment is held here.")
    return bytes(stored)


def _check_document(
    deps: Dependencies, request: VerifiedRequest, document: WrittenVerdict, commitment: Bytes32
) -> None:
    chain = deps.config.chain
    compared = (
        ("report_commitment", report_commitment(request.body), commitment, "the path is not the hash of these bytes"),
        ("chain_id", document.chain_id, chain.chain_id, "is not this deployment's chain"),
        ("hub_address", document.hub_address, chain.hub_address, "is not this deployment's Hub"),
        ("guardian_address", document.guardian_address, request.signer, "is not the Guardian who signed"),
    )
    issues = [Issue(path, message) for path, ours, theirs, message in compared if ours != theirs]
    if issues:
        raise ServiceError("invalid_written_verdict", "The Verdict does not fit this request.", issues=issues)


def _check_state(facts: HubFacts, document: WrittenVerdict) -> None:
    bounty = facts.bounty(document.bounty_id)
    if facts.finalization(bounty) is not None:
        raise state_refusal("invalid_written_verdict", "The bounty is final; no further Verdict counts.")
    if document.kind is VerdictKind.AWARDED and document.solver_address is not None:
        active = facts.active_submission(document.bounty_id, document.solver_address)
        if active is None or active.submission_commitment != document.submission_commitment:
            raise state_refusal("invalid_written_verdict", "The named Submission is not that Solver's active one.")
