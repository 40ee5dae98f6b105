"""Deleting rows that anyone can make and nothing needs any more of schema ``app``.

Only rows are deleted that nothing can need any more, as final state shows: an approval that is no valid signature any
more; a charge that no quota counts; a page that cannot be funded and was not; an envelope, and what is known of its
bytes, that no final ``submit`` recorded; a Verdict that the Hub does not hold of a bounty that is judged. What a run
does not reach is there on the next.
"""

from datetime import timedelta
from typing import Final

from bounty_protocol.auth.verify import FRESHNESS_SECONDS
from service_common.db import app as t
from service_common.db import hub_index as h
from service_common.db.expiry import delete_where
from service_common.db.hub_facts import FactSource
from service_common.db.hub_reads import Head
from service_common.log import get_logger
from sqlalchemy import ColumnElement, exists, func

from service_api.publishing.review_charges import QUOTA_WINDOW
from service_api.storage.room import is_recorded

DAY_SECONDS: Final = 86_400
PAGE_GRACE_DAYS: Final = 7
"""Days after the last moment at which a page could have been funded."""
VERDICT_GRACE_DAYS: Final = 7
"""Days after a bounty's judging deadline."""
ENVELOPE_GRACE_DAYS: Final = 1
"""Days after a bounty's submission deadline, as for its uploads."""
VERIFIED_DAYS: Final = 60
"""Days for which it is remembered that the bytes of an upload were hashed, where no envelope names them."""
APPROVAL_DAYS: Final = 7
"""Days for an approval: whether one is still fresh is the api's node to say, which may stand still longer than the
index."""

log = get_logger(__name__)


def delete_expired(source: FactSource) -> int:
    """Delete the rows whose time is over; return how many."""
    with source.open() as facts:
        head = facts.head
    ended = {
        t.processed_approvals: _approvals(head),
        t.review_charges: t.review_charges.c.charged_at < func.now() - 2 * QUOTA_WINDOW,
        t.challenge_pages: _pages(head),
        t.submission_envelopes: _envelopes(head),
        t.verified_objects: _verified(),
        t.written_verdicts: _verdicts(head),
    }
    counts = {table.name: delete_where(source.engine, table, condition) for table, condition in ended.items()}
    log.info("expired rows deleted", **counts)
    return sum(counts.values())


def _approvals(head: Head) -> ColumnElement[bool]:
    """Select signatures over blocks that are final and older than the window: they no longer prove anything."""
    c = t.processed_approvals.c
    is_stale = c.created_at < func.to_timestamp(head.block_time - 2 * FRESHNESS_SECONDS)  # twice: clocks differ
    return _older(c.created_at, APPROVAL_DAYS) & is_stale & (c.block_number < head.finalized_number)


def _pages(head: Head) -> ColumnElement[bool]:
    c = t.challenge_pages.c
    is_funded = exists().where(h.bounties.c.spec_commitment == c.spec_commitment)
    return (c.submission_deadline < head.finalized_time - PAGE_GRACE_DAYS * DAY_SECONDS) & ~is_funded


def _envelopes(head: Head) -> ColumnElement[bool]:
    bounty_id = t.submission_envelopes.c.bounty_id
    return _past(bounty_id, h.bounties.c.submission_deadline, head, ENVELOPE_GRACE_DAYS) & ~is_recorded()


def _verified() -> ColumnElement[bool]:
    c = t.verified_objects.c
    named = exists().where(t.submission_envelopes.c.storage_locator == c.storage_locator)
    return _older(c.verified_at, VERIFIED_DAYS) & ~named


def _verdicts(head: Head) -> ColumnElement[bool]:
    c, v = t.written_verdicts.c, h.verdicts.c
    held = exists().where((v.bounty_id == c.bounty_id) & (v.report_commitment == c.report_commitment))
    return _past(c.bounty_id, h.bounties.c.judging_deadline, head, VERDICT_GRACE_DAYS) & ~held


def _past(bounty_id: ColumnElement[int], moment: ColumnElement[int], head: Head, days: int) -> ColumnElement[bool]:
    """Return whether the chain is final this many days past a moment of the bounty."""
    b = h.bounties.c
    return exists().where((b.bounty_id == bounty_id) & (moment < head.finalized_time - days * DAY_SECONDS))


def _older(moment: ColumnElement[object], days: int) -> ColumnElement[bool]:
    return moment < func.now() - timedelta(days=days)
