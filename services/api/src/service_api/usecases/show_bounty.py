"""The bounty detail: facts, roster, active Submissions, the challenge behind the commitment, and the record.

Promises: ``challenge`` is the committed Markdown or null with ``bounty_challenge_content_mismatch`` beside it; an
open bounty has neither ``verification_record`` nor its error, a final one exactly one of them. Everything shown is one
moment of the index.
"""

from service_common.db import app as t
from service_common.db.hub_facts import HubFacts
from service_common.db.hub_reads import IndexedBounty, count_active_submissions, read_active_submissions
from service_common.domain.challenge import parse_challenge, term_differences
from service_common.domain.commitments import spec_commitment
from service_common.errors import ServiceError
from service_common.types import BountyId
from sqlalchemy import Connection, select

from service_api.dependencies import Dependencies
from service_api.usecases.rendering import facts_json, finality_json, submission_json
from service_api.usecases.verification_records import RecordUnavailable, find_record

MAX_LISTED_SUBMISSIONS = 1_000


def show_bounty(deps: Dependencies, bounty_id: BountyId) -> dict[str, object]:
    """The body of ``GET /api/bounties/{bounty_id}``."""
    with deps.facts.open() as facts:
        bounty = facts.indexed_bounty(bounty_id)
        submissions = read_active_submissions(facts.connection, bounty_id, MAX_LISTED_SUBMISSIONS)
        return {
            "bounty_id": str(bounty.bounty_id),
            "chain_id": facts.head.chain_id,
            "hub_address": facts.head.hub_address,
            "facts": facts_json(bounty, facts.head.block_time),
            "guardian_roster": facts.roster(bounty).to_json(),
            "active_submissions": [submission_json(submission) for submission in submissions],
            "active_submission_count": count_active_submissions(facts.connection, bounty_id),
            **_challenge(facts.connection, bounty),
            **_record(deps, facts, bounty),
            **finality_json(bounty, facts.head),
        }


def _challenge(connection: Connection, bounty: IndexedBounty) -> dict[str, object]:
    """The page, or null and why. Missing bytes answer like altered ones: neither is what was committed to."""
    stored = connection.execute(
        select(t.challenge_pages.c.content).where(t.challenge_pages.c.spec_commitment == bounty.spec_commitment)
    ).scalar()
    page = None if stored is None else bytes(stored)
    if page is None or spec_commitment(page) != bounty.spec_commitment:
        return {"challenge": None, "error": _mismatch(), "challenge_terms": None}
    return {"challenge": page.decode("utf-8", "replace"), "challenge_terms": _terms(page, bounty)}


def _terms(page: bytes, bounty: IndexedBounty) -> dict[str, object]:
    """Whether the page's own terms are those on chain: anyone can create a bounty with any commitment."""
    try:
        challenge = parse_challenge(page)
    except ServiceError:
        return {"matches": False, "differences": [{"field": "frontmatter", "page": "unreadable", "chain": ""}]}
    window = bounty.judging_deadline - bounty.reveal_at
    found = term_differences(challenge, bounty.escrow_amount, bounty.submission_deadline, window)
    differences = [{"field": each.field, "page": each.page, "chain": each.chain} for each in found]
    return {"matches": not differences, "differences": differences}


def _mismatch() -> dict[str, object]:
    error = ServiceError(
        "bounty_challenge_content_mismatch",
        "The challenge page held here is missing or does not hash to the bounty's spec_commitment.",
    )
    return {"code": error.code, "message": error.message, "issues": [], "next_action": error.next_action}


def _record(deps: Dependencies, facts: HubFacts, bounty: IndexedBounty) -> dict[str, object]:
    if bounty.finalization is None:
        return {}
    record = find_record(deps.engine, facts, bounty)
    if isinstance(record, RecordUnavailable):
        return {"verification_record_error": {"code": record.code, "message": record.message}}
    return {"verification_record": record}
