"""The jobs of queue ``delivery``."""

import os

from service_common.db import delivery as t
from service_common.db import hub_index
from service_common.db.engine import writing
from service_common.jobs.queues import check_message
from sqlalchemy import delete, exists

from service_delivery.config import read_config
from service_delivery.dependencies import make_dependencies


def sweep(received: dict[str, object]) -> int:
    """Delete wraps of Submissions that did not win a finally final bounty; how many were deleted."""
    check_message(received)
    deps = make_dependencies(read_config(os.environ))
    with deps.facts.open() as facts:
        finalized = facts.head.finalized_number
    w, f = t.wraps.c, hub_index.finalizations.c
    lost = exists().where(
        f.bounty_id == w.bounty_id,
        f.block_number <= finalized,
        ~((f.winner == w.solver) & (f.submission_commitment == w.submission_commitment)),
    )
    with writing(deps.engine) as connection:
        return connection.execute(delete(t.wraps).where(lost)).rowcount
