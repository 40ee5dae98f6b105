"""``POST /api/bounty-challenge-specs/...``: ``check`` a page, and ``prepare-publication``."""

from bounty_protocol.auth.verify import VerifiedRequest
from bounty_protocol.domain.challenge.frontmatter import MAX_DOCUMENT_BYTES
from bounty_protocol.shapes import to_json
from bounty_protocol.wire.publication import PageFindings, PreparedPublication, PublicationQuery
from flask import Blueprint, Response, jsonify
from service_common.web.authentication import public_body, read_query, signed
from service_common.web.callers import Callers
from service_common.web.dependencies import provided
from service_common.web.parsing import load_query

from service_api.config import ApiConfig
from service_api.openapi.description import Described
from service_api.publishing.check_page import PageChecks
from service_api.publishing.publish_challenge import Publishing, require_publications

routes = Blueprint("challenge_specs", __name__, url_prefix="/api/bounty-challenge-specs")

_EXAMPLE = (
    "---\nversion: 1\ntitle: Halve the size of our tile set\nsummary: The tiles are too large.\n"
    "escrow_amount: 25000000\nsubmission_deadline: 1900000000\njudging_window_seconds: 259200\n"
    "acceptance_criteria:\n  - Every tile decodes to the same pixels.\ndeliverables:\n  - The tool.\n---\n# Tiles\n"
)


@routes.route("/check", methods=["POST"])
@Described(
    PageFindings,
    (
        "invalid_bounty_challenge",
        "page_check_unavailable",
        "bounty_chain_state_unavailable",
        "bounty_projection_unavailable",
    ),
    example=_EXAMPLE,
)
@public_body("text/markdown", MAX_DOCUMENT_BYTES)
def check(page: bytes) -> Response:
    """Check a challenge page before it is published: by its form, this Hub's bounds and the readiness rules.

    No model reads it, no review is charged, and nothing of the page is stored or logged.
    """
    callers, config = provided(Callers), provided(ApiConfig)
    require_publications(config)
    callers.charge(config.budgets.page_checks)
    read_query(allowed=frozenset())
    with callers.place("page-checks", config.at_once.page_checks):
        return jsonify(to_json(provided(PageChecks).check(page)))


@routes.route("/prepare-publication", methods=["POST"])
@Described(
    PreparedPublication,
    (
        "bounty_chain_state_unavailable",
        "forbidden",
        "invalid_bounty_challenge",
        "bounty_challenge_not_ready",
        "publication_review_unavailable",
        "publication_review_limit_reached",
        "invalid_orchestrator_output",
        "orchestrator_provider_error",
        "orchestrator_unconfigured",
        "bounty_projection_unavailable",
        "pending_storage_full",
    ),
    query=PublicationQuery,
    example=_EXAMPLE,
)
@signed("text/markdown", MAX_DOCUMENT_BYTES)
def prepare_publication(request: VerifiedRequest) -> Response:
    """Review and store a challenge page; get the createBounty arguments that the Poster's wallet sends.

    Signed by the account named by poster_address.
    """
    callers, config = provided(Callers), provided(ApiConfig)
    require_publications(config)
    with callers.place("publications", config.at_once.publications):
        budgets = config.budgets
        callers.charge_account(budgets.publications, budgets.publications_of_address, request.signer)
        poster = load_query(PublicationQuery).poster_address
        request.require_signer({poster})
        return jsonify(to_json(provided(Publishing).publish(request, poster)))
