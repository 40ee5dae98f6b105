"""The bounty detail: facts, roster, active Submissions, the challenge behind the commitment, and the record.

``challenge`` is the committed Markdown or null with ``bounty_challenge_content_mismatch`` beside it. An open bounty has
neither ``verification_record`` nor its error, a final one exactly one of them. Everything shown is one moment of the
index.
"""

from service_common.db import app as t
from service_common.db.hub_reads import count_active_submissions, read_active_submissions
from service_common.domain.bounty import Bounty, TermDifference, term_differences
from service_common.domain.challenge import parse_challenge
from service_common.domain.commitments import spec_commitment
from service_common.errors import ServiceError
from service_common.types import BountyId
from service_common.wire.bounties import BountyDetail, ChallengeTerms, RecordError
from service_common.wire.errors import error_body
from sqlalchemy import Connection, select

from service_api.dependencies import Dependencies
from service_api.usecases.rendering import block_of_change, facts_of, finality_of, submission_of
from service_api.usecases.verification_records import find_record

MAX_LISTED_SUBMISSIONS = 1_000


def show_bounty(deps: Dependencies, bounty_id: BountyId) -> BountyDetail:
    """The body of ``GET /api/bounties/{bounty_id}``."""
    with deps.facts.open() as facts:
        bounty = facts.indexed_bounty(bounty_id)
        submissions = read_active_submissions(facts.connection, bounty_id, MAX_LISTED_SUBMISSIONS)
        page = _page(facts.connection, bounty)
        record = None if bounty.finalized is None else find_record(deps.engine, facts, bounty)
        return BountyDetail(
            bounty_id=bounty.bounty_id,
            chain_id=facts.head.chain_id,
            hub_address=facts.head.hub_address,
            facts=facts_of(bounty, facts.head.block_time),
            guardian_roster=facts.roster(bounty),
            active_submissions=tuple(submission_of(submission) for submission in submissions),
            active_submission_count=count_active_submissions(facts.connection, bounty_id),
            challenge=None if page is None else page.decode("utf-8", "replace"),
            challenge_terms=None if page is None else _terms(page, bounty),
            finality=finality_of(bounty, facts.head),
            block=block_of_change(bounty),
            error=error_body(_mismatch()) if page is None else None,
            verification_record=None if isinstance(record, RecordError) else record,
            verification_record_error=record if isinstance(record, RecordError) else None,
        )


def _page(connection: Connection, bounty: Bounty) -> bytes | None:
    """The committed page. Missing bytes answer like altered ones: neither is what was committed to."""
    stored = connection.execute(
        select(t.challenge_pages.c.content).where(t.challenge_pages.c.spec_commitment == bounty.terms.spec_commitment)
    ).scalar()
    page = None if stored is None else bytes(stored)
    return page if page is not None and spec_commitment(page) == bounty.terms.spec_commitment else None


def _terms(page: bytes, bounty: Bounty) -> ChallengeTerms:
    """Whether the page's own terms are those on chain."""
    try:
        challenge = parse_challenge(page)
    except ServiceError:
        return ChallengeTerms(matches=False, differences=(TermDifference("frontmatter", "unreadable", ""),))
    found = term_differences(challenge, bounty.terms)
    return ChallengeTerms(matches=not found, differences=tuple(found))


def _mismatch() -> ServiceError:
    return ServiceError(
        "bounty_challenge_content_mismatch",
        "The challenge page held here is missing or does not hash to the bounty's spec_commitment.",
    )
