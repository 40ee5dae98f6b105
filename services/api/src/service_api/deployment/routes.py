"""``GET /api/deployment``, ``/api/status`` and ``/api/changes``: what it is, how its index does, and what changes."""

from bounty_protocol.shapes import to_json
from bounty_protocol.wire.changes import ChangeList, ChangeQuery
from bounty_protocol.wire.deployment import Deployment, DeploymentStatus
from flask import Blueprint, Response
from service_common.db.hub_facts import FactSource
from service_common.web.authentication import public, read_query
from service_common.web.dependencies import provided
from service_common.web.parsing import load_query

from service_api.config import ApiConfig
from service_api.deployment.changes import list_changes
from service_api.deployment.client_settings import client_settings
from service_api.deployment.constants import Constants
from service_api.deployment.show_deployment import show_deployment
from service_api.deployment.show_status import show_status
from service_api.openapi.description import Described
from service_api.versions import REVALIDATE, Version, json_version, link_to_next, text_version, versioned

routes = Blueprint("deployment", __name__, url_prefix="/api/deployment")
index = Blueprint("index", __name__, url_prefix="/api")


@routes.route("", methods=["GET"])
@Described(Deployment, ("bounty_projection_unavailable", "bounty_chain_state_unavailable"), versioned=True)
@public
def get_deployment() -> Response:
    """The facts of this deployment that a client needs."""
    read_query(allowed=frozenset())
    provided(Constants).require("hub", "beacon")
    return versioned(_deployment)


def _deployment() -> Version:
    with provided(FactSource).open() as facts:
        found = show_deployment(facts, provided(Constants), provided(ApiConfig).web.public_host)
    return json_version(to_json(found))


@routes.route("/client.env", methods=["GET"])
@Described("text/plain", ("bounty_chain_state_unavailable",), versioned=True)
@public
def get_client_settings() -> Response:
    """The client's settings for this deployment, to be saved as ``.env`` in a separate directory.

    Chain, Hub, token, API, subgraph, reveal delay and beacon belong together, so they come as one file. It names no RPC
    endpoint, since the client checks all other values with one."""
    read_query(allowed=frozenset())
    config, constants = provided(ApiConfig), provided(Constants)
    constants.require("hub", "beacon")
    return versioned(lambda: text_version(client_settings(config, constants), "text/plain", REVALIDATE))


@index.route("/status", methods=["GET"])
@Described(DeploymentStatus, versioned=True, indexed=True)
@public
def get_status() -> Response:
    """How far the index is behind the chain, and what all bounties come to; also answered without a database."""
    read_query(allowed=frozenset())
    return versioned(_status)


def _status() -> Version:
    found = show_status(provided(FactSource))
    return json_version(to_json(found), at=found.position)


@index.route("/changes", methods=["GET"])
@Described(ChangeList, ("bounty_projection_unavailable",), query=ChangeQuery, versioned=True, indexed=True)
@public
def get_changes() -> Response:
    """Every change of the index after a number, in order, answered at once: events, and what reorgs took back."""
    query = load_query(ChangeQuery)
    return versioned(lambda: _changes(query))


def _changes(query: ChangeQuery) -> Version:
    with provided(FactSource).open() as facts:
        page = list_changes(facts, query)
    link = link_to_next("after", str(page.next_after)) if page.has_more else None
    return json_version(to_json(page), link=link, at=facts.head)
