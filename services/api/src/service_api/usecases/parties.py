"""The exact bytes of a page or a written Verdict, for those who take part in its bounty, also while they are withheld.

Who takes part is what the Hub has, finalized: the funding Poster, Solvers with a recorded Submission, and the Guardians
of the pinned roster. Holding a commitment is not access.
"""

from bounty_protocol.auth.verify import VerifiedRequest
from bounty_protocol.domain.bounty import Bounty
from bounty_protocol.domain.commitments import report_commitment, spec_commitment
from bounty_protocol.domain.verdict import parse_verdict
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId, Bytes32
from service_common.db import app as t
from service_common.db.hub_facts import HubFacts
from service_common.db.hub_reads import read_submission_history
from sqlalchemy import select

from service_api.dependencies import Dependencies
from service_api.usecases.written_verdicts import no_such_verdict


def read_page(deps: Dependencies, request: VerifiedRequest, bounty_id: BountyId) -> bytes:
    """The committed page of a bounty."""
    with deps.facts.open() as facts:
        wanted, c = _require_party(facts, request, bounty_id).terms.spec_commitment, t.challenge_pages.c
        stored = facts.connection.execute(select(c.content).where(c.spec_commitment == wanted)).scalar()
    if stored is None or spec_commitment(bytes(stored)) != wanted:
        raise ServiceError("challenge_not_found", "The challenge page is not held here, or not as it was committed to.")
    return bytes(stored)


def read_document(deps: Dependencies, request: VerifiedRequest, commitment: Bytes32) -> bytes:
    """A written Verdict."""
    with deps.facts.open() as facts:
        c = t.written_verdicts.c
        stored = facts.connection.execute(select(c.content).where(c.report_commitment == commitment)).scalar()
        if stored is None or report_commitment(bytes(stored)) != commitment:
            raise no_such_verdict()
        _require_party(facts, request, parse_verdict(bytes(stored)).bounty_id)
    return bytes(stored)


def _require_party(facts: HubFacts, request: VerifiedRequest, bounty_id: BountyId) -> Bounty:
    """The bounty, of which the signer is a party."""
    bounty = facts.bounty(bounty_id)
    parties = {bounty.terms.poster, *facts.roster(bounty).accounts}
    if request.signer in parties or not _is_recorded(facts, bounty_id, request.signer):
        request.require_signer(parties)
    return bounty


def _is_recorded(facts: HubFacts, bounty_id: BountyId, solver: Address) -> bool:
    """Whether the Hub has a Submission of this account, a replaced one included; 503 while none is finalized."""
    history = read_submission_history(facts.connection, bounty_id, solver)
    if history:
        facts.require_finalized(history[0].origin)
    return bool(history)
