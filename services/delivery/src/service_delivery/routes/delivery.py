"""``/api/deployment/delivery-key`` and ``/api/bounties/{bounty_id}/delivery/…``.

Each signed request is verified here again, whoever forwarded it.
"""

from typing import cast

from flask import Response, jsonify
from flask_smorest import Blueprint
from marshmallow import Schema, fields
from service_common.auth.verify import VerifiedRequest
from service_common.domain.public_keys import parse_public_key
from service_common.errors import Issue, ServiceError
from service_common.types import BountyId, parse_address, parse_bounty_id, parse_bytes32
from service_common.web.authentication import public, read_query, signed
from service_common.web.parsing import load_json, parse

from service_delivery.dependencies import dependencies
from service_delivery.usecases.keys import delivery_key_json
from service_delivery.usecases.known import known_bounties
from service_delivery.usecases.wraps import WrapRequest, retrieve_key, store_wrap, wrap_exists

routes = Blueprint("delivery", __name__, url_prefix="/api", description="Delivery of the winning work")

MAX_BODY_BYTES = 4 * 1024
_CODE = "invalid_winning_solution_delivery"


class WrapBody(Schema):
    """A Guardian's wrap."""

    solver_address = fields.String(required=True)
    submission_commitment = fields.String(required=True)
    wrapped_key = fields.String(required=True)


class RetrieveBody(Schema):
    """The Poster's fresh key."""

    poster_ephemeral_public_key = fields.String(required=True)


@routes.route("/deployment/delivery-key", methods=["GET"])
@public
def delivery_key() -> Response:
    """This deployment's current delivery public key."""
    read_query(allowed=frozenset())
    deps = dependencies()
    with deps.facts.open() as facts:
        return jsonify(delivery_key_json(facts.connection, deps.config.keyring))


@routes.route("/bounties/<bounty_id>/delivery/status", methods=["GET"])
@public
def status(bounty_id: str) -> Response:
    """Whether a wrap of exactly one Submission is held; false for whatever does not exist."""
    query = read_query(allowed=frozenset({"submission_commitment"}), code=_CODE)
    if "submission_commitment" not in query:
        issue = Issue("submission_commitment", "is required")
        raise ServiceError(_CODE, "The query is incomplete.", issues=[issue])
    commitment = parse(query["submission_commitment"], parse_bytes32, path="submission_commitment", code=_CODE)
    bounty = _bounty_id(bounty_id)
    with dependencies().facts.open() as facts:
        return jsonify({"exists": wrap_exists(dependencies(), facts.connection, bounty, commitment)})


@routes.route("/bounties/<bounty_id>/delivery/wrap", methods=["POST"])
@signed("application/json", MAX_BODY_BYTES)
def wrap(request: VerifiedRequest, bounty_id: str) -> Response:
    """Store a Submission's content key, wrapped to the delivery key."""
    read_query(allowed=frozenset(), code=_CODE)
    bounty = _bounty_id(bounty_id)
    deps, known = dependencies(), known_bounties()
    request.require_signer(known.bounty(deps, bounty).guardians)
    body = load_json(request.body, WrapBody(), code=_CODE)
    wanted = WrapRequest(
        parse(cast("str", body["solver_address"]), parse_address, path="solver_address", code=_CODE),
        parse(cast("str", body["submission_commitment"]), parse_bytes32, path="submission_commitment", code=_CODE),
        cast("str", body["wrapped_key"]),
    )
    created = store_wrap(deps, known, bounty, wanted)
    response = jsonify({"exists": True})
    response.status_code = 201 if created else 200
    return response


@routes.route("/bounties/<bounty_id>/delivery/retrieve", methods=["POST"])
@signed("application/json", MAX_BODY_BYTES)
def retrieve(request: VerifiedRequest, bounty_id: str) -> Response:
    """The winning content key, sealed to the Poster's fresh key."""
    read_query(allowed=frozenset(), code=_CODE)
    bounty = _bounty_id(bounty_id)
    deps, known = dependencies(), known_bounties()
    request.require_signer({known.bounty(deps, bounty).bounty.poster})
    body = load_json(request.body, RetrieveBody(), code=_CODE)
    key = parse(
        cast("str", body["poster_ephemeral_public_key"]),
        parse_public_key,
        path="poster_ephemeral_public_key",
        code=_CODE,
    )
    response = jsonify(retrieve_key(deps, known, bounty, key))
    response.headers["Cache-Control"] = "no-store"
    return response


def _bounty_id(text: str) -> BountyId:
    return parse(text, parse_bounty_id, path="bounty_id", code=_CODE)
