"""``GET /api/deployment``."""

from bounty_protocol.shapes import to_json
from bounty_protocol.wire.deployment import Deployment
from flask import Blueprint, Response
from service_common.db.hub_facts import FactSource
from service_common.web.authentication import public, read_query
from service_common.web.provided import provided

from service_api.config import ApiConfig
from service_api.deployment.client_settings import client_settings
from service_api.deployment.constants import Constants
from service_api.deployment.show_deployment import show_deployment
from service_api.openapi.described import Described
from service_api.versions import REVALIDATE, Version, json_version, text_version, versioned

routes = Blueprint("deployment", __name__, url_prefix="/api/deployment")


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
    """The client's settings for this deployment, to be saved as ``.env`` in a directory of its own.

    Chain, Hub, token, API, subgraph, reveal delay and beacon belong together, so they come as one file. It names no RPC
    endpoint: by that the client checks all the others."""
    read_query(allowed=frozenset())
    config, constants = provided(ApiConfig), provided(Constants)
    constants.require("hub", "beacon")
    return versioned(lambda: text_version(client_settings(config, constants), "text/plain", REVALIDATE))
