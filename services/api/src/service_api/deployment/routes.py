"""``GET /api/deployment``."""

from bounty_protocol.shapes import to_json
from bounty_protocol.wire.deployment import Deployment
from flask import Response
from service_common.db.hub_facts import FactSource
from service_common.web.authentication import public, read_query
from service_common.web.operations import Routes, described
from service_common.web.provided import provided
from service_common.web.versions import REVALIDATE, json_version, text_version, versioned

from service_api.config import ApiConfig
from service_api.deployment.client_settings import client_settings
from service_api.deployment.constants import Constants
from service_api.deployment.show_deployment import show_deployment

routes = Routes("deployment", __name__, url_prefix="/api/deployment", description="This deployment")


@routes.route("", methods=["GET"])
@routes.response(200, Deployment, versioned=True)
@described("bounty_projection_unavailable", "bounty_chain_state_unavailable")
@public
def get_deployment() -> Response:
    """The facts of this deployment that a client needs."""
    read_query(allowed=frozenset())
    source, constants, host = provided(FactSource), provided(Constants), provided(ApiConfig).web.public_host
    with constants.reading_once("hub", "beacon"):
        return versioned(lambda: json_version(to_json(show_deployment(source, constants, host))))


@routes.route("/client.env", methods=["GET"])
@routes.response(200, content_type="text/plain", versioned=True)
@described("bounty_chain_state_unavailable")
@public
def get_client_settings() -> Response:
    """The client's settings for this deployment, to be saved as ``.env`` in a separate directory.

    Chain, Hub, token, API, subgraph, reveal delay and beacon belong together, so they come as one file. It names no RPC
    endpoint, since the client checks all other values with one."""
    read_query(allowed=frozenset())
    config, constants = provided(ApiConfig), provided(Constants)
    with constants.reading_once("hub", "beacon"):
        return versioned(lambda: text_version(client_settings(config, constants), "text/plain", REVALIDATE))
