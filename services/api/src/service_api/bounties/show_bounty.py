"""The bounty detail: facts, roster, active Submissions, the challenge behind the commitment, and the record.

``challenge`` is the committed Markdown or null with an error beside it: ``bounty_challenge_content_mismatch``, or
``bounty_challenge_withheld`` where the operator does not show it, of which all else stays as it is. An open bounty has
neither ``verification_record`` nor its error, a final one exactly one of them. Everything shown is one moment of the
index.
"""

from typing import Final

from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.domain.lifecycle.bounty import Bounty, TermDifference, term_differences
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import BountyId
from bounty_protocol.wire.bounties import BountyDetail, ChallengeTerms, RecordError
from bounty_protocol.wire.errors import error_body
from service_common.db.engine import single
from service_common.db.errors import DatabaseUnavailable
from service_common.db.hub_facts import require_pinned, unreadable
from service_common.db.hub_reads import Head

from service_api.bounties.bounty_pages import IndexedBounty, read_bounty_page
from service_api.bounties.rendering import block_of_change, facts_of, finality_of, submission_of
from service_api.bounties.verification_records import Records
from service_api.moderation.texts import page_withheld

_MISMATCH: Final = ServiceError(
    "bounty_challenge_content_mismatch",
    "The challenge page is missing here, or does not match the bounty's spec_commitment.",
)


def show_bounty(records: Records, bounty_id: BountyId) -> tuple[Head, BountyDetail]:
    """Return how far the index is, and the body of ``GET /api/bounties/{bounty_id}``."""
    try:
        with single(records.source.engine) as connection:
            head, found = read_bounty_page(connection, records.source, bounty_id)
    except DatabaseUnavailable as error:
        raise unreadable() from error
    return head, detail_of(records, head, found)


def detail_of(records: Records, head: Head, found: IndexedBounty) -> BountyDetail:
    """Return everything that is shown of a bounty, as read."""
    bounty, page = found.bounty, found.challenge
    if page is not None and spec_commitment(page) != bounty.terms.spec_commitment:
        page = None  # altered bytes count like missing ones: neither is what was committed to
    is_shown = page is not None and found.withheld is None
    record = records.find(head, found)
    return BountyDetail(
        bounty_id=bounty.bounty_id,
        chain_id=head.chain_id,
        hub_address=head.hub_address,
        facts=facts_of(bounty, head.block_time),
        guardian_roster=require_pinned(bounty, found.roster),
        active_submissions=tuple(submission_of(submission) for submission in found.submissions),
        active_submission_count=found.submission_count,
        challenge=page.decode("utf-8", "replace") if page is not None and is_shown else None,
        challenge_terms=None if page is None else _terms(page, bounty),
        finality=finality_of(bounty, head),
        block=block_of_change(bounty),
        error=None if is_shown else error_body(_MISMATCH if found.withheld is None else page_withheld(found.withheld)),
        withheld=found.withheld,
        verification_record=None if isinstance(record, RecordError) else record,
        verification_record_error=record if isinstance(record, RecordError) else None,
    )


def _terms(page: bytes, bounty: Bounty) -> ChallengeTerms:
    """Compare the page's own terms with those on chain."""
    try:
        challenge = parse_challenge(page)
    except ServiceError:
        return ChallengeTerms(matches=False, differences=(TermDifference("frontmatter", "unreadable", ""),))
    found = term_differences(challenge, bounty.terms)
    return ChallengeTerms(matches=not found, differences=tuple(found))
