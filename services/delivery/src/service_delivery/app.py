"""The delivery service's Flask app."""

from flask import Flask
from service_common.budgets import Budgets
from service_common.chain.contract_wallets import ContractWallets
from service_common.chain.recent_blocks import RecentBlocks
from service_common.web.app import create_api
from service_common.web.authentication import Authentication

from service_delivery.dependencies import EXTENSION, Dependencies
from service_delivery.routes import delivery
from service_delivery.usecases import known


def make_app(dependencies: Dependencies) -> Flask:
    """An app that answers with these dependencies."""
    blocks = RecentBlocks(dependencies.rpc, dependencies.clock)
    wallets = ContractWallets(dependencies.rpc, lambda: blocks.newest().number, Budgets(dependencies.clock))
    authentication = Authentication(dependencies.authority, blocks, wallets)
    app, _ = create_api("service_delivery", "Bounty Escrow Service: delivery", [delivery.routes], authentication)
    app.extensions[EXTENSION] = dependencies
    app.extensions[known.EXTENSION] = known.KnownBounties(dependencies.clock)
    return app
