"""Deleting the wraps that finality made useless, once a minute by one process of the deployment."""

from threading import Event, Thread
from typing import Final

from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.clock import SystemClock
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import BountyId
from service_common.db import hub_index
from service_common.db.engine import make_engine, reading, writing
from service_common.db.errors import DatabaseUnavailable
from service_common.db.hub_facts import FactSource
from service_common.jobs import locked
from service_common.log import get_logger
from sqlalchemy import Engine, delete, exists, select

from service_delivery import tables as t
from service_delivery.config import DeliveryConfig
from service_delivery.hub_witness import HubWitness
from service_delivery.wraps import WRAPS

SWEEP_SECONDS: Final = 60.0

log = get_logger(__name__)


def keep_sweeping(config: DeliveryConfig) -> None:
    """Sweep each minute from now on, in a thread that ends with the process."""
    engine = make_engine(config.database_url, application="delivery-sweep", pool_size=1)

    def keep() -> None:
        pause = Event()
        while not pause.wait(SWEEP_SECONDS):
            try:
                with locked(engine, "delivery-sweep") as held:
                    if held:
                        sweep(config, engine)
            except (DatabaseUnavailable, ServiceError, ChainUnavailable) as error:
                log.warning("the sweep is postponed to the next minute", reason=str(error))
            except Exception:  # a thread that ended would keep losing wraps
                log.exception("the sweep failed")

    Thread(target=keep, daemon=True, name="sweeping").start()


def sweep(config: DeliveryConfig, engine: Engine) -> int:
    """Delete wraps of Submissions that did not win a finally final bounty; return how many.

    Nobody can make them again, so the Hub itself is asked how the bounty ended, as before a winner's key is given.
    """
    source = FactSource.of(engine, config.chain, SystemClock())
    witness = HubWitness(config.chain.rpc(), config.chain.hub_address)
    w, f = t.wraps.c, hub_index.finalizations.c
    with source.open() as facts:
        final = facts.head.finalized_number
    won = (f.winner == w.solver) & (f.submission_commitment == w.submission_commitment)
    lost = exists().where(f.bounty_id == w.bounty_id, f.block_number <= final, ~won)
    with reading(engine) as connection:
        found = connection.execute(select(w.bounty_id).where(lost).distinct()).scalars().all()
    swept = sum(_sweep(source, witness, BountyId(each)) for each in found)
    WRAPS.labels("swept").inc(swept)
    return swept


def _sweep(source: FactSource, witness: HubWitness, bounty_id: BountyId) -> int:
    """Delete the wraps that did not win, and return how many; none if the Hub itself names another end."""
    try:
        with source.open() as facts:
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
    with writing(source.engine) as connection:
        return connection.execute(delete(t.wraps).where(w.bounty_id == bounty_id, ~won)).rowcount
