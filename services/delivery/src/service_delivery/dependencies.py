"""Everything a use case of the delivery service may reach."""

from dataclasses import dataclass
from typing import Final, cast

from bounty_protocol.auth.typed_data import SigningDomain
from bounty_protocol.auth.verify import Authority
from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.clock import Clock, SystemClock
from flask import current_app
from service_common.db.engine import make_engine
from service_common.db.hub_facts import FactSource
from sqlalchemy import Engine

from service_delivery.config import DeliveryConfig
from service_delivery.hub_witness import HubWitness

EXTENSION: Final = "service-delivery"


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Dependencies shared by the use cases of one process. Thread-safe."""

    config: DeliveryConfig
    engine: Engine
    rpc: Rpc
    clock: Clock
    witness: HubWitness
    """The Hub's own word on who gets a winning key."""

    @property
    def facts(self) -> FactSource:
        """Indexed Hub state."""
        return FactSource.of(self.engine, self.config.chain, self.clock)

    @property
    def authority(self) -> Authority:
        """The scope that signatures to this deployment must name."""
        chain = self.config.chain
        domain = SigningDomain(chain.chain_id, chain.hub_address)
        return Authority(domain, self.config.web.public_host)


def make_dependencies(config: DeliveryConfig) -> Dependencies:
    """The real ones."""
    rpc = config.chain.rpc()
    return Dependencies(
        config=config,
        engine=make_engine(config.database_url, application="delivery", pool_size=10),
        rpc=rpc,
        clock=SystemClock(),
        witness=HubWitness(rpc, config.chain.hub_address),
    )


def dependencies() -> Dependencies:
    """Those of the app that answers this request."""
    return cast("Dependencies", current_app.extensions[EXTENSION])
