"""``GET /api/deployment``."""

from flask import Response
from flask_smorest import Blueprint
from service_common.web.authentication import public, read_query
from service_common.web.versions import json_version, versioned

from service_api.dependencies import dependencies
from service_api.usecases.describe_deployment import describe_deployment

routes = Blueprint("deployment", __name__, url_prefix="/api/deployment", description="This deployment")


@routes.route("", methods=["GET"])
@public
def get_deployment() -> Response:
    """What a client needs to know of this deployment."""
    read_query(allowed=frozenset())
    return versioned(lambda: json_version(describe_deployment(dependencies())))
