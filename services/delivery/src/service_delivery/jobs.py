"""The jobs of queue ``delivery``: deleting what finality made useless, wrapping again what a rotation left behind."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from bounty_protocol.clock import SystemClock
from bounty_protocol.types import BlockNumber, UnixSeconds
from service_common.db import hub_index
from service_common.db.engine import engine_of_job, writing
from service_common.db.hub_facts import FactSource
from service_common.jobs.periodic import Periodic, left_to_the_next
from service_common.jobs.queues import QueueName, check_message
from sqlalchemy import Engine, delete, exists

from service_delivery import tables as t
from service_delivery.config import DeliveryConfig, read_config
from service_delivery.metrics import WRAPS
from service_delivery.usecases.rotation import rewrap

PERIODIC: Final = (
    Periodic(QueueName.DELIVERY, "service_delivery.jobs.sweep", every_seconds=60, run_seconds=60),
    Periodic(QueueName.DELIVERY, "service_delivery.jobs.rewrap_retired", every_seconds=60, run_seconds=60),
)


@left_to_the_next
def sweep(received: Mapping[str, object]) -> int:
    """Delete wraps of Submissions that did not win a finally final bounty; how many were deleted."""
    check_message(received)
    w, f = t.wraps.c, hub_index.finalizations.c
    with _indexed("delivery-sweep") as found:
        lost = exists().where(
            f.bounty_id == w.bounty_id,
            f.block_number <= found.finalized_number,
            ~((f.winner == w.solver) & (f.submission_commitment == w.submission_commitment)),
        )
        with writing(found.engine) as connection:
            swept = connection.execute(delete(t.wraps).where(lost)).rowcount
        WRAPS.labels("swept").inc(swept)
        return swept


@left_to_the_next
def rewrap_retired(received: Mapping[str, object]) -> int:
    """Wrap what is stored for other keys again to the current one; how many were."""
    check_message(received)
    with _indexed("delivery-rewrap") as found:
        return rewrap(found.engine, found.block_time, found.config.keyring).rewrapped


@dataclass(frozen=True, slots=True)
class _Indexed:
    """The input of a job."""

    config: DeliveryConfig
    engine: Engine
    finalized_number: BlockNumber
    block_time: UnixSeconds


@contextmanager
def _indexed(application: str) -> Iterator[_Indexed]:
    """The database while the index answers."""
    config = read_config(os.environ)
    with engine_of_job(config.database_url, application=application) as engine:
        with FactSource.of(engine, config.chain, SystemClock()).open() as facts:
            head = facts.head
        yield _Indexed(config, engine, head.finalized_number, head.block_time)
