"""The api's Flask app: the shared factory, this service's dependencies, and its routes."""

from bounty_protocol.chain.deployment import HUB_HEADER, caip_10
from flask import Flask
from service_common.chain.contract_wallets import ContractWallets
from service_common.chain.recent_blocks import RecentBlocks
from service_common.web.app import create_api
from service_common.web.authentication import Authentication
from service_common.web.edge import Edge
from service_common.web.versions import install_versions

from service_api.dependencies import Dependencies, attach
from service_api.openapi.document import ROOT, TITLE, install_document
from service_api.routes import (
    accounts,
    bounties,
    challenge_specs,
    delivery,
    deployment,
    documents,
    index,
    subgraph,
    submissions,
    verdicts,
    withheld,
)

ROUTES = tuple(
    each.routes
    for each in (
        accounts,
        bounties,
        challenge_specs,
        submissions,
        verdicts,
        delivery,
        deployment,
        index,
        withheld,
        documents,
        subgraph,
    )
)


def make_app(dependencies: Dependencies) -> Flask:
    """An app that answers with these dependencies."""
    chain = dependencies.config.chain
    blocks = RecentBlocks(dependencies.rpc, dependencies.clock)
    wallets = ContractWallets(dependencies.rpc, lambda: blocks.newest().number, dependencies.callers.budgets)
    authentication = Authentication(dependencies.authority, blocks, wallets)
    app, api = create_api("service_api", TITLE, ROUTES, authentication, dependencies.callers, ROOT)
    attach(app, dependencies)
    if isinstance(app.wsgi_app, Edge):
        app.wsgi_app.always = ((HUB_HEADER, caip_10(chain.chain_id, chain.hub_address)),)
    install_versions(app, dependencies.clock)
    install_document(app, api)
    return app
