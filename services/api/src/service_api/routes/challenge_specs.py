"""``POST /api/bounty-challenge-specs/prepare-publication``."""

from flask import Response, jsonify
from flask_smorest import Blueprint
from service_common.auth.verify import VerifiedRequest
from service_common.domain.frontmatter import MAX_DOCUMENT_BYTES
from service_common.errors import Issue, ServiceError
from service_common.types import parse_address
from service_common.web.authentication import read_query, signed
from service_common.web.parsing import parse

from service_api.dependencies import Dependencies, dependencies
from service_api.usecases.publish_challenge import publish_challenge

routes = Blueprint(
    "challenge_specs", __name__, url_prefix="/api/bounty-challenge-specs", description="Publishing a challenge page"
)


@routes.route("/prepare-publication", methods=["POST"])
@signed("text/markdown", MAX_DOCUMENT_BYTES)
def prepare_publication(request: VerifiedRequest) -> Response:
    """Review and store a challenge page; return what the Poster's wallet has to send."""
    deps = dependencies()
    with deps.callers.turn("publications", deps.config.at_once.publications):
        return jsonify(_publish(deps, request))


def _publish(deps: Dependencies, request: VerifiedRequest) -> dict[str, object]:
    budgets = deps.config.budgets
    deps.callers.charge_account(budgets.publications, budgets.publications_of_address, request.signer)
    query = read_query(allowed=frozenset({"poster_address"}))
    if "poster_address" not in query:
        issue = Issue("poster_address", "is required, exactly once")
        raise ServiceError("invalid_request", "The query is incomplete.", issues=[issue])
    poster = parse(query["poster_address"], parse_address, path="poster_address")
    request.require_signer({poster})
    return publish_challenge(deps, request, poster)
