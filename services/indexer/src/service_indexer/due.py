"""Which bounties anyone may settle now, by the indexed copy.

A bounty is listed only when its creation is finalized and no ending is indexed; the contract is queried again before
anything is sent. Boundaries: from the judging deadline, or from the submission deadline without a Submission.
"""

from bounty_protocol.types import BountyId
from service_common.db import hub_index as t
from service_common.db.hub_reads import Head
from sqlalchemy import Connection, exists, or_, select

MAX_DUE = 100


def read_due(connection: Connection, head: Head) -> list[BountyId]:
    """Bounties whose time is up at the indexed block's time, oldest first, at most ``MAX_DUE``."""
    b, s = t.bounties.c, t.submissions.c
    has_submission = exists().where(s.bounty_id == b.bounty_id)
    now = head.block_time
    rows = connection.execute(
        select(b.bounty_id)
        .join_from(t.open_bounties, t.bounties, t.open_bounties.c.bounty_id == b.bounty_id)
        .where(
            b.block_number <= head.finalized_number,
            or_(b.judging_deadline <= now, (b.submission_deadline <= now) & ~has_submission),
        )
        .order_by(b.bounty_id)
        .limit(MAX_DUE)
    )
    return [BountyId(row.bounty_id) for row in rows]
