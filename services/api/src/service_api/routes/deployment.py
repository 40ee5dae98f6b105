"""``GET /api/deployment``."""

from flask import Response
from service_common.shapes import to_json
from service_common.web.authentication import public, read_query
from service_common.web.operations import Routes, described
from service_common.web.versions import json_version, versioned
from service_common.wire.deployment import Deployment

from service_api.dependencies import dependencies
from service_api.usecases.describe_deployment import describe_deployment

routes = Routes("deployment", __name__, url_prefix="/api/deployment", description="This deployment")


@routes.route("", methods=["GET"])
@routes.response(200, Deployment, versioned=True)
@described("bounty_projection_unavailable", "bounty_chain_state_unavailable")
@public
def get_deployment() -> Response:
    """What a client needs to know of this deployment."""
    read_query(allowed=frozenset())
    return versioned(lambda: json_version(to_json(describe_deployment(dependencies()))))
