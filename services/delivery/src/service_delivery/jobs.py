"""The jobs of queue ``delivery``: deleting what finality made useless, wrapping again what a rotation left behind."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.clock import SystemClock
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import BlockNumber, BountyId, UnixSeconds
from service_common.db import hub_index
from service_common.db.engine import engine_of_job, reading, writing
from service_common.db.hub_facts import FactSource
from service_common.jobs.periodic import Periodic, left_to_the_next
from service_common.jobs.queues import QueueName, check_message
from service_common.log import get_logger
from service_common.web.hub_witness import HubWitness
from sqlalchemy import Engine, delete, exists, select

from service_delivery import tables as t
from service_delivery.config import DeliveryConfig, read_config
from service_delivery.metrics import WRAPS
from service_delivery.usecases.rotation import rewrap

PERIODIC: Final = (
    Periodic(QueueName.DELIVERY, "service_delivery.jobs.sweep", every_seconds=60, run_seconds=60),
    Periodic(QueueName.DELIVERY, "service_delivery.jobs.rewrap_retired", every_seconds=60, run_seconds=60),
)

log = get_logger(__name__)


@left_to_the_next
def sweep(received: Mapping[str, object]) -> int:
    """Delete wraps of Submissions that did not win a finally final bounty; how many were deleted.

    Nobody can make them again, so that the Hub itself is asked how a bounty ended, as before a winner's key is given.
    """
    check_message(received)
    swept = 0
    with _indexed("delivery-sweep") as found:
        chain = found.config.chain
        witness = HubWitness(chain.rpc(), chain.chain_id, chain.hub_address)
        try:
            for bounty_id in _with_losers(found):
                swept += _sweep(found, witness, bounty_id)
        except ChainUnavailable as error:
            log.warning("left to the next run", job="sweep", reason=str(error))
    WRAPS.labels("swept").inc(swept)
    return swept


def _with_losers(found: "_Indexed") -> list[BountyId]:
    """The final bounties that have a wrap of a Submission that did not win."""
    w, f = t.wraps.c, hub_index.finalizations.c
    lost = exists().where(
        f.bounty_id == w.bounty_id,
        f.block_number <= found.finalized_number,
        ~((f.winner == w.solver) & (f.submission_commitment == w.submission_commitment)),
    )
    with reading(found.engine) as connection:
        return [BountyId(each) for each in connection.execute(select(w.bounty_id).where(lost).distinct()).scalars()]


def _sweep(found: "_Indexed", witness: HubWitness, bounty_id: BountyId) -> int:
    """Delete the wraps that did not win, and return how many; none if the Hub itself names another end."""
    try:
        with found.facts.open() as facts:
            bounty, final = facts.bounty(bounty_id), facts.head.finalized_number
            ending = facts.ending(bounty)
        witness.require_ending(bounty, final)
    except ServiceError as error:
        log.warning("wraps of a final bounty are kept", bounty_id=bounty_id, reason=error.message)
        return 0
    if ending is None:
        return 0
    w = t.wraps.c
    won = (w.solver == ending.winner) & (w.submission_commitment == ending.submission_commitment)
    with writing(found.engine) as connection:
        return connection.execute(delete(t.wraps).where(w.bounty_id == bounty_id, ~won)).rowcount


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
    facts: FactSource
    finalized_number: BlockNumber
    block_time: UnixSeconds


@contextmanager
def _indexed(application: str) -> Iterator[_Indexed]:
    """The database while the index answers."""
    config = read_config(os.environ)
    with engine_of_job(config.database_url, application=application) as engine:
        source = FactSource.of(engine, config.chain, SystemClock())
        with source.open() as facts:
            head = facts.head
        yield _Indexed(config, engine, source, head.finalized_number, head.block_time)
