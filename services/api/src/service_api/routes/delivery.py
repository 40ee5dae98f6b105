"""The delivery routes, forwarded byte for byte to the delivery service, which verifies everything by itself."""

from flask import Response
from flask import request as flask_request
from flask_smorest import Blueprint
from service_common.auth.verify import VerifiedRequest
from service_common.web.authentication import public, signed
from service_common.web.forwarding import forward

from service_api.dependencies import dependencies

routes = Blueprint("delivery", __name__, url_prefix="/api", description="Delivery of the winning work")

MAX_BODY_BYTES = 4 * 1024


@routes.route("/deployment/delivery-key", methods=["GET"])
@public
def delivery_key() -> Response:
    """This deployment's X25519 delivery public key."""
    return _forward(b"")


@routes.route("/bounties/<bounty_id>/delivery/status", methods=["GET"])
@public
def delivery_status(bounty_id: str) -> Response:  # noqa: ARG001  # the path is forwarded as it came
    """Whether a wrapped key of exactly one Submission is held."""
    return _forward(b"")


@routes.route("/bounties/<bounty_id>/delivery/wrap", methods=["POST"])
@signed("application/json", MAX_BODY_BYTES)
def delivery_wrap(request: VerifiedRequest, bounty_id: str) -> Response:  # noqa: ARG001
    """Store a Submission's content key, wrapped to the delivery key."""
    return _forward(request.body)


@routes.route("/bounties/<bounty_id>/delivery/retrieve", methods=["POST"])
@signed("application/json", MAX_BODY_BYTES)
def delivery_retrieve(request: VerifiedRequest, bounty_id: str) -> Response:  # noqa: ARG001
    """Get the winning content key, rewrapped to the Poster's fresh key."""
    return _forward(request.body)


def _forward(body: bytes) -> Response:
    deps = dependencies()
    return forward(deps.http, deps.config.delivery_url, flask_request, body)
