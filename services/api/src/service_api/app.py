"""The api's Flask app: what each route uses, its routes and the pages."""

from bounty_protocol.auth.typed_data import SigningDomain
from bounty_protocol.auth.verify import Authority
from bounty_protocol.chain.deployment import HUB_HEADER, caip_10
from bounty_protocol.clock import SystemClock
from bounty_protocol.crypto.beacon_http import Urllib3Get
from flask import Flask
from service_common.budgets import Budgets
from service_common.chain.contract_wallets import ContractWallets
from service_common.chain.recent_blocks import CALL_SECONDS, MAX_ANSWER_BYTES, RecentBlocks
from service_common.db.engine import make_engine
from service_common.db.hub_facts import FactSource
from service_common.web.app import create_api
from service_common.web.authentication import Authentication
from service_common.web.callers import Callers
from service_common.web.dependencies import provide
from service_common.web.edge import Edge

from service_api.bounties import routes as bounty_routes
from service_api.bounties.verification_records import Records
from service_api.config import ApiConfig
from service_api.delivery import routes as delivery_routes
from service_api.delivery.forwarding import Forwarder
from service_api.deployment import routes as deployment_routes
from service_api.deployment.constants import Constants
from service_api.moderation import routes as moderation_routes
from service_api.openapi import routes as document_routes
from service_api.openapi.document import Published
from service_api.pages.site import install_pages
from service_api.pages.sources import PageSources
from service_api.publishing import routes as publishing_routes
from service_api.publishing.check_page import PageChecks
from service_api.publishing.publish_challenge import Publishing
from service_api.publishing.reviews import Reviews
from service_api.resources import Resources
from service_api.storage.room import PendingRoom
from service_api.subgraph import routes as subgraph_routes
from service_api.submissions import routes as submission_routes
from service_api.submissions.prepare_submission import Preparation
from service_api.submissions.read_content import Contents
from service_api.verdicts import routes as verdict_routes
from service_api.verdicts.written_verdicts import Verdicts
from service_api.versions import install_versions

ROUTES = (
    bounty_routes.accounts,
    bounty_routes.routes,
    publishing_routes.routes,
    submission_routes.routes,
    verdict_routes.routes,
    delivery_routes.routes,
    deployment_routes.routes,
    deployment_routes.index,
    moderation_routes.routes,
    document_routes.routes,
    subgraph_routes.routes,
)


def make_app(resources: Resources) -> Flask:
    """Make an app that answers with these resources."""
    config, rpc, clock = resources.config, resources.rpc, resources.clock
    chain, web = config.chain, config.web
    budgets = Budgets(clock, resources.limits_redis)
    callers = Callers(budgets, config.budgets, web.forwarded_hops, config.at_once.requests)
    blocks = RecentBlocks(rpc, clock)
    wallets = ContractWallets(rpc, lambda: blocks.newest().number, budgets)
    authority = Authority(SigningDomain(chain.chain_id, chain.hub_address), web.public_host)
    authentication = Authentication(authority, blocks, wallets)
    app = create_api("service_api", ROUTES, authentication, callers)
    source, constants, ciphertexts = resources.facts, resources.constants(), resources.ciphertexts
    sources = PageSources(config, Records(source), constants, resources.relays)
    room = PendingRoom(source.engine, rpc, config.pending_bytes, clock)
    provide(
        app,
        config,
        source,
        constants,
        ciphertexts,
        sources.records,
        Verdicts(source, rpc.bounded(seconds=CALL_SECONDS, max_answer_bytes=MAX_ANSWER_BYTES)),
        PageChecks(source, constants, resources.http, config.reviewer_url),
        Publishing(source, constants, room, Reviews(source.engine, resources.review_redis, callers, config)),
        Preparation(source, constants, ciphertexts, room),
        Contents(source, ciphertexts, callers, config.budgets),
        Forwarder(resources.http, config.delivery_url, callers),
        sources,
        Published(app),
    )
    _answer_people(app, sources)
    return app


def make_pages_app(config: ApiConfig) -> Flask:
    """Make an app with only the pages: it reads the database, counts requests itself, and writes nothing."""
    clock, relays, rpc = SystemClock(), Urllib3Get(), config.chain.rpc()
    callers = Callers(Budgets(clock), config.budgets, config.web.forwarded_hops, config.at_once.requests)
    app = create_api("service_api", (), None, callers)
    engine = make_engine(config.database_url, application="pages", pool_size=8)
    source = FactSource.of(engine, config.chain, clock)
    constants = Constants(rpc, config.chain, config.beacon, relays)
    sources = PageSources(config, Records(source, may_keep=False), constants, relays)
    provide(app, config, source, constants, sources)
    _answer_people(app, sources)
    return app


def _answer_people(app: Flask, sources: PageSources) -> None:
    chain = sources.config.chain
    if isinstance(app.wsgi_app, Edge):
        app.wsgi_app.always = ((HUB_HEADER, caip_10(chain.chain_id, chain.hub_address)),)
    install_versions(app, sources.clock)
    install_pages(app, sources)
