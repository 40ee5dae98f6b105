"""The delivery service's Flask app."""

from bounty_protocol.auth.typed_data import SigningDomain
from bounty_protocol.auth.verify import Authority
from bounty_protocol.clock import Clock, SystemClock
from flask import Flask
from service_common.budgets import Budgets
from service_common.chain.contract_wallets import ContractWallets
from service_common.chain.recent_blocks import RecentBlocks
from service_common.db.engine import make_engine
from service_common.db.hub_facts import FactSource
from service_common.web.app import create_api
from service_common.web.authentication import Authentication
from service_common.web.dependencies import provide

from service_delivery import routes
from service_delivery.bounties import Bounties
from service_delivery.config import DeliveryConfig
from service_delivery.hub_witness import HubWitness
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
