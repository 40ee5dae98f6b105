"""Documents served as they are: the rubric and the schema of the challenge page's frontmatter."""

from flask import Response, jsonify
from flask_smorest import Blueprint
from service_common.domain.challenge import challenge_schema
from service_common.rubric import current_rubric
from service_common.web.authentication import public, read_query

routes = Blueprint("documents", __name__, url_prefix="/api", description="Rubric and schemas")


@routes.route("/readiness-rubric", methods=["GET"])
@public
def get_rubric() -> Response:
    """The rubric that readiness reviews apply."""
    read_query(allowed=frozenset())
    rubric = current_rubric()
    return jsonify({"rubric_version": rubric.version, "rubric_hash": rubric.hash, "text": rubric.text})


@routes.route("/schemas/bounty-challenge.json", methods=["GET"])
@public
def get_challenge_schema() -> Response:
    """JSON Schema of a challenge page's frontmatter."""
    read_query(allowed=frozenset())
    return jsonify(challenge_schema())
