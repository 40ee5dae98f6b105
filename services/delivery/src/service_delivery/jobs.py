"""The jobs of queue ``delivery``."""

import os
from collections.abc import Mapping

from service_common.clock import SystemClock
from service_common.db import delivery as t
from service_common.db import hub_index
from service_common.db.engine import engine_of_job, writing
from service_common.db.hub_facts import FactSource
from service_common.jobs.queues import check_message
from sqlalchemy import delete, exists

from service_delivery.config import read_config


def sweep(received: Mapping[str, object]) -> int:
    """Delete wraps of Submissions that did not win a finally final bounty; how many were deleted."""
    check_message(received)
    config = read_config(os.environ)
    w, f = t.wraps.c, hub_index.finalizations.c
    with engine_of_job(config.database_url, application="delivery-sweep") as engine:
        with FactSource(engine, config.chain.chain_id, SystemClock()).open() as facts:
            finalized = facts.head.finalized_number
        lost = exists().where(
            f.bounty_id == w.bounty_id,
            f.block_number <= finalized,
            ~((f.winner == w.solver) & (f.submission_commitment == w.submission_commitment)),
        )
        with writing(engine) as connection:
            return connection.execute(delete(t.wraps).where(lost)).rowcount
