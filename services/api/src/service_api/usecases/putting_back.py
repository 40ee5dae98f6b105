"""``service-api put-back``: a document that the database lost, or that was altered there, kept again from any copy.

The chain names a challenge page, an envelope and a written Verdict by the hash of their bytes, so that nothing else can
be put in their place, at any time: long after its Poster, Solver or Guardian could send it by the API.
"""

from bounty_protocol.domain.challenge import parse_challenge
from bounty_protocol.domain.commitments import report_commitment, spec_commitment, submission_commitment
from bounty_protocol.domain.envelope import parse_envelope
from bounty_protocol.domain.verdict import parse_verdict
from bounty_protocol.types import Address, BountyId
from service_common.db import hub_index as h
from service_common.db.engine import reading
from sqlalchemy import Engine, select

from service_api.usecases.pages import store_page
from service_api.usecases.prepare_submission import store_envelope
from service_api.usecases.written_verdicts import store_verdict


class NotNamed(Exception):
    """No bounty, Submission or Verdict of the index has the hash of these bytes."""


def put_back(engine: Engine, content: bytes) -> list[str]:
    """Keep a document; what of which bounty it is, in words. ``NotNamed``, or ``ServiceError`` where what the chain
    names is no such document; then nothing has changed."""
    b, s, v = h.bounties.c, h.submissions.c, h.verdicts.c
    page, envelope, verdict = spec_commitment(content), submission_commitment(content), report_commitment(content)
    with reading(engine) as connection:
        of_page = select(b.bounty_id).where(b.spec_commitment == page).order_by(b.bounty_id)
        bounties = [BountyId(each) for each in connection.execute(of_page).scalars()]
        of_envelope = select(s.bounty_id, s.solver).where(s.submission_commitment == envelope)
        submissions = [(BountyId(row.bounty_id), Address(row.solver)) for row in connection.execute(of_envelope)]
        of_verdict = select(v.bounty_id, v.guardian).where(v.report_commitment == verdict)
        verdicts = [(BountyId(row.bounty_id), Address(row.guardian)) for row in connection.execute(of_verdict)]
    if bounties:
        store_page(engine, page, content, parse_challenge(content))
        return [f"the page of bounty {each}" for each in bounties]
    if submissions:
        sealed = parse_envelope(content)
        if (sealed.bounty_id, sealed.solver_address) in submissions:
            store_envelope(engine, sealed, content, None)
            return [f"the envelope of {sealed.solver_address} in bounty {sealed.bounty_id}"]
    if verdicts:
        document = parse_verdict(content)
        if (document.bounty_id, document.guardian_address) in verdicts:
            store_verdict(engine, document, content)
            return [f"the Verdict of {document.guardian_address} in bounty {document.bounty_id}"]
    raise NotNamed("The chain names no page, envelope or Verdict of these bytes, as far as the index has it.")
