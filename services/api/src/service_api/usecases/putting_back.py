"""``service-api put-back``: a document that the database lost, or that was altered there, kept again from any copy.

The chain names a challenge page, an envelope and a written Verdict by the hash of their bytes, so that nothing else can
be put in their place, at any time: long after its Poster, Solver or Guardian could send it by the API.
"""

from bounty_protocol.domain.challenge import parse_challenge
from bounty_protocol.domain.commitments import report_commitment, spec_commitment, submission_commitment
from bounty_protocol.domain.envelope import parse_envelope
from bounty_protocol.domain.verdict import parse_verdict
from bounty_protocol.errors import ServiceError
from service_common.db import hub_index as h
from service_common.db.engine import reading
from sqlalchemy import Engine, exists, select

from service_api.usecases.pages import store_page
from service_api.usecases.prepare_submission import store_envelope
from service_api.usecases.written_verdicts import store_verdict


class NotNamed(Exception):
    """No bounty, Submission or Verdict of the index has these bytes, in words."""


def put_back(engine: Engine, content: bytes) -> list[str]:
    """Keep a document; what of which bounty it is, in words. ``NotNamed`` where nothing was changed.

    Anybody can have the hash of another's document recorded, as of a page or an envelope of their own: what the bytes
    are decides, and only then who names them.
    """
    for each in (_page, _envelope, _verdict):
        try:
            found = each(engine, content)
        except ServiceError:  # bytes of another kind
            continue
        if found:
            return found
    raise NotNamed("The chain names no page, envelope or Verdict of these bytes, as far as the index has it.")


def _page(engine: Engine, content: bytes) -> list[str]:
    page, commitment, b = parse_challenge(content), spec_commitment(content), h.bounties.c
    with reading(engine) as connection:
        named = select(b.bounty_id).where(b.spec_commitment == commitment).order_by(b.bounty_id)
        bounties = connection.execute(named).scalars().all()
    if bounties:
        store_page(engine, commitment, content, page)
    return [f"the page of bounty {each}" for each in bounties]


def _envelope(engine: Engine, content: bytes) -> list[str]:
    envelope, commitment, s = parse_envelope(content), submission_commitment(content), h.submissions.c
    own = (s.bounty_id == envelope.bounty_id) & (s.solver == envelope.solver_address)
    with reading(engine) as connection:
        if not connection.execute(select(exists().where(own, s.submission_commitment == commitment))).scalar_one():
            return []
    store_envelope(engine, envelope, content, None)
    return [f"the envelope of {envelope.solver_address} in bounty {envelope.bounty_id}"]


def _verdict(engine: Engine, content: bytes) -> list[str]:
    verdict, commitment, v = parse_verdict(content), report_commitment(content), h.verdicts.c
    own = (v.bounty_id == verdict.bounty_id) & (v.guardian == verdict.guardian_address)
    with reading(engine) as connection:
        if not connection.execute(select(exists().where(own, v.report_commitment == commitment))).scalar_one():
            return []
    store_verdict(engine, verdict, content)
    return [f"the Verdict of {verdict.guardian_address} in bounty {verdict.bounty_id}"]
