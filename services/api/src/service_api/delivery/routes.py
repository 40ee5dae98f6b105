"""The delivery routes, forwarded byte for byte to the delivery service, which verifies everything again."""

from bounty_protocol.auth.verify import VerifiedRequest
from bounty_protocol.wire.delivery import (
    MAX_DELIVERY_BYTES,
    DeliveryKey,
    DeliveryStatus,
    RetrievedKey,
    RetrieveRequest,
    StatusQuery,
    WrapRequest,
)
from flask import Blueprint, Response
from flask import request as flask_request
from service_common.web.authentication import public, signed
from service_common.web.dependencies import provided

from service_api.delivery.forwarding import Forwarder
from service_api.openapi.description import Described

routes = Blueprint("delivery", __name__, url_prefix="/api")

_UNAVAILABLE = ("delivery_unavailable", "bounty_projection_unavailable")
_OF_SIGNED = (
    "forbidden",
    "invalid_winning_solution_delivery",
    "bounty_not_found",
    "bounty_chain_state_unavailable",
    "submission_not_found",
    "solver_submission_content_invalid",
)
"""The delivery service's answers to a signed request, the envelope behind its commitment included."""
_COMMITMENT = "0x" + "1f" * 32


@routes.route("/deployment/delivery-key", methods=["GET"])
@Described(
    DeliveryKey,
    _UNAVAILABLE,
    shown={"delivery_public_key": _COMMITMENT, "key_id": "0x0123456789abcdef", "algorithm": "x25519-sealed-box"},
)
@public
def delivery_key() -> Response:
    """The delivery public key in effect.

    Compare it with the key on chain. 503 `delivery_unavailable` while the owner has withdrawn it.
    """
    return provided(Forwarder).read(flask_request)


@routes.route("/bounties/<bounty_id>/delivery/status", methods=["GET"])
@Described(
    DeliveryStatus, ("invalid_winning_solution_delivery", *_UNAVAILABLE), query=StatusQuery, shown={"exists": True}
)
@public
def delivery_status(bounty_id: str) -> Response:  # noqa: ARG001  # the path is forwarded as it came
    """Whether a wrapped key of exactly this Submission is stored; false for anything unknown."""
    return provided(Forwarder).read(flask_request)


@routes.route("/bounties/<bounty_id>/delivery/wrap", methods=["POST"])
@Described(
    DeliveryStatus,
    (*_OF_SIGNED, *_UNAVAILABLE),
    body=WrapRequest,
    example={"solver_address": "0x" + "ab" * 20, "submission_commitment": _COMMITMENT, "wrapped_key": "A" * 107 + "="},
    created=True,
    shown={"exists": True},
)
@signed("application/json", MAX_DELIVERY_BYTES)
def delivery_wrap(request: VerifiedRequest, bounty_id: str) -> Response:  # noqa: ARG001
    """Store a Submission's content key, wrapped to the delivery key.

    Signed by a Guardian of the pinned roster.
    """
    return provided(Forwarder).forward(flask_request, request.body)


@routes.route("/bounties/<bounty_id>/delivery/retrieve", methods=["POST"])
@Described(
    RetrievedKey,
    (*_OF_SIGNED, "winning_solution_key_not_found", *_UNAVAILABLE),
    body=RetrieveRequest,
    example={"poster_ephemeral_public_key": _COMMITMENT},
)
@signed("application/json", MAX_DELIVERY_BYTES)
def delivery_retrieve(request: VerifiedRequest, bounty_id: str) -> Response:  # noqa: ARG001
    """Get the winning content key, rewrapped to the Poster's fresh key.

    Signed by the funding Poster. Only once the bounty is awarded.
    """
    return provided(Forwarder).forward(flask_request, request.body)
