"""The api's Flask app: the shared factory, this service's dependencies, its routes and the pages."""

from bounty_protocol.chain.deployment import HUB_HEADER, caip_10
from flask import Flask
from service_common.chain.contract_wallets import ContractWallets
from service_common.chain.recent_blocks import RecentBlocks
from service_common.web.app import create_api
from service_common.web.authentication import Authentication
from service_common.web.edge import Edge
from service_common.web.versions import install_versions

from service_api.bounties import account_routes
from service_api.bounties import routes as bounty_routes
from service_api.delivery import routes as delivery_routes
from service_api.dependencies import Dependencies, attach
from service_api.deployment import index_routes
from service_api.deployment import routes as deployment_routes
from service_api.moderation import routes as moderation_routes
from service_api.openapi import routes as document_routes
from service_api.openapi.document import ROOT, TITLE, install_document
from service_api.pages.site import install_pages
from service_api.publishing import routes as publishing_routes
from service_api.subgraph import routes as subgraph_routes
from service_api.submissions import routes as submission_routes
from service_api.verdicts import routes as verdict_routes

ROUTES = tuple(
    each.routes
    for each in (
        account_routes,
        bounty_routes,
        publishing_routes,
        submission_routes,
        verdict_routes,
        delivery_routes,
        deployment_routes,
        index_routes,
        moderation_routes,
        document_routes,
        subgraph_routes,
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
    install_pages(app, dependencies)
    install_document(app, api)
    return app
