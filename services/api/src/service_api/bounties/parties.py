"""The exact bytes of a page or a written Verdict, for those who take part in its bounty, also while they are withheld.

Who takes part is what the Hub has, finalized: the funding Poster, Solvers with a recorded Submission, and the
Guardians of the pinned roster. Holding a commitment is not access. Anybody may record a Submission, or fund a bounty
with the same page: of a page that is withheld these count only from before it was. A Verdict's Solvers are there
before it is.
"""

from bounty_protocol.auth.verify import VerifiedRequest
from bounty_protocol.domain.challenge.commitments import report_commitment, spec_commitment
from bounty_protocol.domain.lifecycle.bounty import Bounty
from bounty_protocol.domain.verdict import parse_verdict
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId, Bytes32
from service_common.db import app as t
from service_common.db.hub_facts import FactSource, HubFacts
from service_common.db.hub_reads import read_submission
from sqlalchemy import select

from service_api.moderation.texts import read_page_blocks
from service_api.verdicts.written_verdicts import no_such_verdict


def read_page(source: FactSource, request: VerifiedRequest, bounty_id: BountyId) -> bytes:
    """Return the committed page of a bounty."""
    with source.open() as facts:
        bounty = facts.bounty(bounty_id)
        wanted, c = bounty.terms.spec_commitment, t.challenge_pages.c
        page_block, first_block = read_page_blocks(facts.connection, wanted, bounty.terms.poster)
        is_first_poster = page_block is None or bounty.created.origin.block_number <= page_block
        _require_party(facts, request, bounty, is_poster_one=is_first_poster, until_block=first_block)
        stored = facts.connection.execute(select(c.content).where(c.spec_commitment == wanted)).scalar()
    if stored is None or spec_commitment(bytes(stored)) != wanted:
        raise ServiceError(
            "challenge_not_found", "The challenge page is not stored here, or does not match its commitment."
        )
    return bytes(stored)


def read_document(source: FactSource, request: VerifiedRequest, commitment: Bytes32) -> bytes:
    """Return a written Verdict."""
    with source.open() as facts:
        c = t.written_verdicts.c
        stored = facts.connection.execute(select(c.content).where(c.report_commitment == commitment)).scalar()
        if stored is None or report_commitment(bytes(stored)) != commitment:
            raise no_such_verdict()
        _require_party(facts, request, facts.bounty(parse_verdict(bytes(stored)).bounty_id))
    return bytes(stored)


def _require_party(
    facts: HubFacts,
    request: VerifiedRequest,
    bounty: Bounty,
    *,
    is_poster_one: bool = True,
    until_block: int | None = None,
) -> None:
    """Raise unless the signer is a party: as a Solver, one whose first Submission is in a block up to
    ``until_block``.
    """
    parties = {*facts.roster(bounty).accounts, *((bounty.terms.poster,) if is_poster_one else ())}
    if request.signer in parties or not _is_recorded(facts, bounty.bounty_id, request.signer, until_block):
        request.require_signer(parties)


def _is_recorded(facts: HubFacts, bounty_id: BountyId, solver: Address, until_block: int | None) -> bool:
    """Return whether the Hub has a Submission of this account, a replaced one included; 503 while none is finalized."""
    first = read_submission(facts.connection, bounty_id, solver, oldest=True)
    if first is None or (until_block is not None and first.origin.block_number > until_block):
        return False
    facts.require_finalized(first.origin)
    return True
