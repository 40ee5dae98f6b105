"""``/api/written-verdicts/{report_commitment}``: write by a Guardian, read by anyone."""

from bounty_protocol.auth.verify import VerifiedRequest
from bounty_protocol.domain.challenge.frontmatter import MAX_DOCUMENT_BYTES
from bounty_protocol.shapes import to_json
from bounty_protocol.types import parse_bytes32
from bounty_protocol.wire.submissions import StoredVerdict
from flask import Blueprint, Response, jsonify
from flask import request as flask_request
from service_common.db.hub_facts import FactSource
from service_common.web.authentication import public, read_query, signed
from service_common.web.dependencies import provided
from service_common.web.parsing import parse
from werkzeug.wrappers import Response as BaseResponse

from service_api.bounties.parties import read_document
from service_api.openapi.description import Described
from service_api.verdicts.written_verdicts import Verdicts, read_verdict
from service_api.versions import FINALIZED, exact_bytes

routes = Blueprint("written_verdicts", __name__, url_prefix="/api/written-verdicts")

_CODE = "invalid_written_verdict"
_STORED = {"report_commitment": "0x" + "1f" * 32, "byte_length": 812}


@routes.route("/<report_commitment>", methods=["POST"])
@Described(
    StoredVerdict,
    ("bounty_chain_state_unavailable", "forbidden", _CODE, "bounty_not_found", "bounty_projection_unavailable"),
    created=True,
    shown=_STORED,
)
@signed("text/markdown", MAX_DOCUMENT_BYTES)
def post_written_verdict(request: VerifiedRequest, report_commitment: str) -> Response:
    """Store a Guardian's written Verdict.

    Signed by a Guardian of the bounty's pinned roster. Accepted while the bounty is judgeable; later only a Verdict of
    that Guardian that the Hub already holds.
    """
    read_query(allowed=frozenset(), code=_CODE)
    commitment = parse(report_commitment, parse_bytes32, path="report_commitment", code=_CODE)
    created = provided(Verdicts).write(request, commitment)
    response = jsonify(to_json(StoredVerdict(commitment, len(request.body))))
    response.status_code = 201 if created else 200
    return response


@routes.route("/<report_commitment>", methods=["GET"])
@Described(
    "text/markdown",
    ("written_verdict_not_found", "written_verdict_withheld", "bounty_projection_unavailable"),
    versioned=True,
)
@public
def get_written_verdict(report_commitment: str) -> BaseResponse:
    """The document behind a commitment, byte by byte; the ETag is the commitment.

    Caches may keep it for only a minute: the operator may have to withhold it.
    """
    read_query(allowed=frozenset())
    commitment = parse(report_commitment, parse_bytes32, path="report_commitment")
    response = Response(read_verdict(provided(FactSource), commitment), content_type="text/markdown; charset=utf-8")
    response.set_etag(commitment)
    response.headers["Cache-Control"] = FINALIZED
    return response.make_conditional(flask_request)


@routes.route("/<report_commitment>/document", methods=["GET"])
@Described(
    "text/markdown",
    (
        "bounty_chain_state_unavailable",
        "bounty_not_found",
        "bounty_projection_unavailable",
        "forbidden",
        "written_verdict_not_found",
    ),
)
@signed(None)
def get_document(request: VerifiedRequest, report_commitment: str) -> Response:
    """Read the exact bytes of a written Verdict, even while it is withheld.

    Signed by the funding Poster, a Solver with a recorded Submission, or a Guardian of the pinned roster.
    """
    read_query(allowed=frozenset())
    commitment = parse(report_commitment, parse_bytes32, path="report_commitment")
    return exact_bytes(read_document(provided(FactSource), request, commitment))
