"""The jobs of queue ``delivery``: deleting what finality made useless, wrapping again what a rotation left behind."""

import os
from collections.abc import Mapping
from typing import Final

from service_common.clock import SystemClock
from service_common.db import delivery as t
from service_common.db import hub_index
from service_common.db.engine import engine_of_job, writing
from service_common.db.hub_facts import FactSource
from service_common.jobs.periodic import Periodic
from service_common.jobs.queues import QueueName, check_message
from sqlalchemy import delete, exists

from service_delivery.config import read_config
from service_delivery.usecases.rotation import rewrap

PERIODIC: Final = (
    Periodic(QueueName.DELIVERY, "service_delivery.jobs.sweep", every_seconds=60, run_seconds=60),
    Periodic(QueueName.DELIVERY, "service_delivery.jobs.rewrap_retired", every_seconds=60, run_seconds=60),
)


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


def rewrap_retired(received: Mapping[str, object]) -> int:
    """Wrap what is stored for other keys again to the current one; how many were."""
    check_message(received)
    config = read_config(os.environ)
    with engine_of_job(config.database_url, application="delivery-rewrap") as engine:
        return rewrap(engine, config.keyring).rewrapped
