"""Which bounties anyone may settle now, and whether the settler has something to do, by the indexed copy.

A bounty is listed only when its creation is finalized and no ending is indexed; the contract is queried again before
anything is sent. Boundaries: from the judging deadline, or from the submission deadline without a Submission.
"""

from bounty_protocol.types import BountyId, ChainId
from service_common.db import hub_index as t
from service_common.db.engine import reading
from service_common.db.hub_reads import Head, read_head
from sqlalchemy import Connection, Engine, exists, or_, select

from service_indexer.settler_tables import settlements

MAX_DUE = 100


def read_due(connection: Connection, head: Head) -> list[BountyId]:
    """Read the bounties whose time is up at the indexed block's time, oldest first, at most ``MAX_DUE``."""
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


def has_work(engine: Engine, chain_id: ChainId) -> bool:
    """Return whether a bounty is due, or a sent settlement is kept; False while the copy has halted."""
    with reading(engine) as connection:
        head = read_head(connection, chain_id)
        if head is None or head.halted is not None:
            return False
        return bool(connection.execute(select(exists(select(settlements.c.bounty_id)))).scalar()) or bool(
            read_due(connection, head)
        )
