"""The delivery service's Flask app."""

from bounty_protocol.auth.typed_data import SigningDomain
from bounty_protocol.auth.verify import Authority
from bounty_protocol.chain.hub import Hub
from bounty_protocol.clock import Clock, SystemClock
from flask import Flask
from service_common.budgets import Budgets
from service_common.chain.contract_wallets import ContractWallets
from service_common.chain.recent_blocks import RecentBlocks
from service_common.db.engine import make_engine
from service_common.db.hub_facts import FactSource
from service_common.db.schema import check_schema
from service_common.internal_port import Check
from service_common.start import further_checks
from service_common.web.app import create_api
from service_common.web.authentication import Authentication
from service_common.web.dependencies import provide
from sqlalchemy import Engine

from service_delivery import routes
from service_delivery.bounties import Bounties
from service_delivery.config import DeliveryConfig
from service_delivery.hub_witness import HubWitness
from service_delivery.keys import check_keys
from service_delivery.wraps import Wraps

_CLOCK = SystemClock()


def make_app(config: DeliveryConfig, clock: Clock = _CLOCK) -> Flask:
    """Make an app of this configuration, without opening a connection."""
    chain, rpc = config.chain, config.chain.rpc()
    source = FactSource.of(make_engine(config.database_url, application="delivery", pool_size=10), chain, clock)
    blocks = RecentBlocks(rpc, clock)
    wallets = ContractWallets(rpc, lambda: blocks.newest().number, Budgets(clock))
    authority = Authority(SigningDomain(chain.chain_id, chain.hub_address), config.web.public_host)
    authentication = Authentication(authority, blocks, wallets)
    app = create_api("service_delivery", [routes.routes], authentication)
    bounties = Bounties(source, config.keyring, config.key_grace_seconds)
    provide(app, config, source, bounties, Wraps(bounties, HubWitness(rpc, chain.hub_address)))
    return app


def readiness_checks(config: DeliveryConfig, engine: Engine) -> dict[str, Check]:
    """Return the readiness checks of the process."""
    rpc = config.chain.rpc()
    return {
        "database": lambda: check_schema(engine, "service_delivery"),
        "chain": lambda: config.chain.check(rpc),
    }


def start_checks(config: DeliveryConfig, engine: Engine) -> dict[str, Check]:
    """Return all that is tried at the start; a key that the Hub replaces later takes no process out of service."""
    hub = Hub(config.chain.rpc(), config.chain.hub_address)
    own: dict[str, Check] = {"delivery key": lambda: check_keys(hub, config.keyring)}
    return readiness_checks(config, engine) | further_checks(config.chain) | own
