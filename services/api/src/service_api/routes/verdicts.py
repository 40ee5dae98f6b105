"""``/api/written-verdicts/{report_commitment}``: write by a Guardian, read by anyone."""

from flask import Response, jsonify
from flask import request as flask_request
from flask_smorest import Blueprint
from service_common.auth.verify import VerifiedRequest
from service_common.domain.frontmatter import MAX_DOCUMENT_BYTES
from service_common.types import parse_bytes32
from service_common.web.authentication import public, read_query, signed
from service_common.web.parsing import parse
from werkzeug.wrappers import Response as BaseResponse

from service_api.dependencies import dependencies
from service_api.usecases.written_verdicts import read_verdict, write_verdict

routes = Blueprint("written_verdicts", __name__, url_prefix="/api/written-verdicts", description="Written Verdicts")

_CODE = "invalid_written_verdict"


@routes.route("/<report_commitment>", methods=["POST"])
@signed("text/markdown", MAX_DOCUMENT_BYTES)
def post_written_verdict(request: VerifiedRequest, report_commitment: str) -> Response:
    """Store a Guardian's written Verdict."""
    read_query(allowed=frozenset(), code=_CODE)
    commitment = parse(report_commitment, parse_bytes32, path="report_commitment", code=_CODE)
    body, created = write_verdict(dependencies(), request, commitment)
    response = jsonify(body)
    response.status_code = 201 if created else 200
    return response


@routes.route("/<report_commitment>", methods=["GET"])
@public
def get_written_verdict(report_commitment: str) -> BaseResponse:
    """Read the document behind a commitment."""
    read_query(allowed=frozenset())
    commitment = parse(report_commitment, parse_bytes32, path="report_commitment")
    response = Response(read_verdict(dependencies(), commitment), content_type="text/markdown; charset=utf-8")
    response.set_etag(commitment)
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    return response.make_conditional(flask_request)
