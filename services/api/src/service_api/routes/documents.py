"""Documents served as they are: the rubric, the frontmatter's schema, the interface and its page."""

from flask import Response
from flask_smorest import Blueprint
from service_common.domain.challenge import challenge_schema
from service_common.rubric import current_rubric
from service_common.web.authentication import public, read_query
from service_common.web.versions import DOCUMENT, json_version, render_version, text_version

from service_api.openapi.document import openapi_document
from service_api.openapi.page import docs_page

routes = Blueprint("documents", __name__, url_prefix="/api", description="Rubric and schemas")


@routes.route("/readiness-rubric", methods=["GET"])
@public
def get_rubric() -> Response:
    """The rubric that readiness reviews apply."""
    read_query(allowed=frozenset())
    rubric = current_rubric()
    shown = {"rubric_version": rubric.version, "rubric_hash": rubric.hash, "text": rubric.text}
    return render_version(json_version(shown, DOCUMENT))


@routes.route("/schemas/bounty-challenge.json", methods=["GET"])
@public
def get_challenge_schema() -> Response:
    """JSON Schema of a challenge page's frontmatter."""
    read_query(allowed=frozenset())
    return render_version(json_version(challenge_schema(), DOCUMENT))


@routes.route("/openapi.json", methods=["GET"])
@public
def get_openapi() -> Response:
    """The interface as OpenAPI 3.1."""
    read_query(allowed=frozenset())
    return render_version(json_version(openapi_document(), DOCUMENT))


@routes.route("/docs", methods=["GET"])
@public
def get_docs() -> Response:
    """The interface as a page."""
    read_query(allowed=frozenset())
    response = render_version(text_version(docs_page(), "text/html", DOCUMENT))
    response.headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    return response
