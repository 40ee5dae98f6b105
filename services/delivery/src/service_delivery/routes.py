"""``/api/deployment/delivery-key`` and ``/api/bounties/{bounty_id}/delivery/…``: the same paths the api forwards.

Each signed request is verified here again, regardless of who forwarded it.
"""

from bounty_protocol.auth.verify import VerifiedRequest
from bounty_protocol.shapes import to_json
from bounty_protocol.types import BountyId, parse_bounty_id
from bounty_protocol.wire.delivery import (
    MAX_DELIVERY_BYTES,
    DeliveryKey,
    DeliveryStatus,
    RetrieveRequest,
    StatusQuery,
    WrapRequest,
)
from flask import Blueprint, Response, jsonify
from service_common.db.hub_facts import FactSource
from service_common.web.authentication import public, read_query, signed
from service_common.web.dependencies import provided
from service_common.web.parsing import load_json, load_query, parse

from service_delivery.bounties import Bounties
from service_delivery.config import DeliveryConfig
from service_delivery.keys import key_id, read_keys
from service_delivery.wraps import REFUSED, Wraps

routes = Blueprint("delivery", __name__, url_prefix="/api")


@routes.route("/deployment/delivery-key", methods=["GET"])
@public
def delivery_key() -> Response:
    """This deployment's current delivery public key."""
    read_query(allowed=frozenset())
    with provided(FactSource).open() as facts:
        keys = read_keys(facts.connection, facts.head.block_time, provided(DeliveryConfig).keyring)
    key = keys.require_current().public_key
    return jsonify(to_json(DeliveryKey(key, key_id(key), "x25519-sealed-box")))


@routes.route("/bounties/<bounty_id>/delivery/status", methods=["GET"])
@public
def status(bounty_id: str) -> Response:
    """Whether a wrap of exactly this Submission is stored; false for anything that does not exist."""
    commitment = load_query(StatusQuery, code=REFUSED).submission_commitment
    exists = provided(Wraps).exists(_bounty_id(bounty_id), commitment)
    return jsonify(to_json(DeliveryStatus(exists)))


@routes.route("/bounties/<bounty_id>/delivery/wrap", methods=["POST"])
@signed("application/json", MAX_DELIVERY_BYTES)
def wrap(request: VerifiedRequest, bounty_id: str) -> Response:
    """Store a Submission's content key, wrapped to the delivery key."""
    read_query(allowed=frozenset(), code=REFUSED)
    bounty = _bounty_id(bounty_id)
    request.require_signer(provided(Bounties).known(bounty).guardians)
    created = provided(Wraps).store(bounty, load_json(request.body, WrapRequest, code=REFUSED))
    response = jsonify(to_json(DeliveryStatus(exists=True)))
    response.status_code = 201 if created else 200
    return response


@routes.route("/bounties/<bounty_id>/delivery/retrieve", methods=["POST"])
@signed("application/json", MAX_DELIVERY_BYTES)
def retrieve(request: VerifiedRequest, bounty_id: str) -> Response:
    """The winning content key, sealed to the Poster's fresh key."""
    read_query(allowed=frozenset(), code=REFUSED)
    bounty = _bounty_id(bounty_id)
    request.require_signer({provided(Bounties).known(bounty).bounty.terms.poster})
    key = load_json(request.body, RetrieveRequest, code=REFUSED).poster_ephemeral_public_key
    response = jsonify(to_json(provided(Wraps).retrieve(bounty, key)))
    response.headers["Cache-Control"] = "no-store"
    return response


def _bounty_id(text: str) -> BountyId:
    return parse(text, parse_bounty_id, path="bounty_id", code=REFUSED)
