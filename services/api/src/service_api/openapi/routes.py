"""Documents served as they are: the rubric, the frontmatter's schema, the interface and its page."""

from bounty_protocol.domain.challenge.page import challenge_schema
from bounty_protocol.rubric import current_rubric
from bounty_protocol.shapes import to_json
from bounty_protocol.wire.deployment import RubricDocument
from bounty_protocol.wire.values import AnyObject
from flask import Blueprint, Response
from service_common.web.authentication import public, read_query
from service_common.web.dependencies import provided

from service_api.openapi.description import Described
from service_api.openapi.document import Published
from service_api.versions import DOCUMENT, json_version, render_version

routes = Blueprint("documents", __name__, url_prefix="/api", template_folder="templates")


@routes.route("/readiness-rubric", methods=["GET"])
@Described(RubricDocument, versioned=True)
@public
def get_rubric() -> Response:
    """The rubric that readiness reviews apply."""
    read_query(allowed=frozenset())
    rubric = current_rubric()
    shown = RubricDocument(rubric.version, rubric.hash, rubric.text)
    return render_version(json_version(to_json(shown), DOCUMENT))


@routes.route("/schemas/bounty-challenge.json", methods=["GET"])
@Described(AnyObject, versioned=True)
@public
def get_challenge_schema() -> Response:
    """JSON Schema of a challenge page's frontmatter."""
    read_query(allowed=frozenset())
    return render_version(json_version(challenge_schema(), DOCUMENT))


@routes.route("/openapi.json", methods=["GET"])
@Described(AnyObject, versioned=True)
@public
def get_openapi() -> Response:
    """The OpenAPI document of these routes."""
    read_query(allowed=frozenset())
    return render_version(provided(Published).json)


@routes.route("/docs", methods=["GET"])
@Described("text/html", versioned=True)
@public
def get_docs() -> Response:
    """The OpenAPI document as a page."""
    read_query(allowed=frozenset())
    response = render_version(provided(Published).page)
    response.headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    return response
