"""``POST /api/hub-notices``: whoever has a notice about the Hub publishes it."""

from typing import Final

from bounty_protocol.domain.hub_notice import HubNotice
from bounty_protocol.shapes import to_json
from flask import Response, jsonify
from service_common.web.authentication import public_json, read_query
from service_common.web.operations import Routes, described
from service_common.web.parsing import load_json

from service_api.dependencies import dependencies
from service_api.usecases.hub_notices import CODE, publish_notice

routes = Routes("hub_notices", __name__, url_prefix="/api/hub-notices", description="Notices about the Hub")

MAX_BODY_BYTES: Final = 16_384
_EXAMPLE: Final = {
    "chain_id": 8453,
    "hub_address": "0x" + "42" * 20,
    "signer": "0x" + "ca" * 20,
    "reason": "hub_flaw",
    "issued_at": 1_800_000_000,
    "expires_at": 1_800_604_800,
    "signature": "0x" + "5a" * 65,
}


@routes.route("", methods=["POST"])
@routes.response(200, HubNotice)
@routes.response(201, HubNotice)
@described(
    CODE,
    "bounty_chain_state_unavailable",
    "bounty_projection_unavailable",
    body=HubNotice,
    example=_EXAMPLE,
)
@public_json(MAX_BODY_BYTES)
def post_hub_notice(body: bytes) -> Response:
    """Publish a notice about the Hub.

    Anyone may bring it: its own signature counts, by an account that the Hub's owner names for notices. The answer is
    the latest one of that account, which `GET /api/status` and `GET /api/deployment` show until its end.
    """
    deps = dependencies()
    deps.callers.charge(deps.config.budgets.hub_notices)
    read_query(allowed=frozenset(), code=CODE)
    kept, created = publish_notice(deps, load_json(body, HubNotice, code=CODE))
    response = jsonify(to_json(kept))
    response.status_code = 201 if created else 200
    return response
