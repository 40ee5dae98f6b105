"""``POST /subgraph``: GraphQL over the indexed Hub log."""

from flask import Response, jsonify
from flask_smorest import Blueprint
from service_common.web.authentication import public_json, read_query

from service_api.dependencies import dependencies
from service_api.graphql.execute import MAX_REQUEST_BYTES, execute_request

routes = Blueprint("subgraph", __name__, description="The indexed Hub log as GraphQL")


@routes.route("/subgraph", methods=["POST"])
@public_json(MAX_REQUEST_BYTES)
def post_subgraph(body: bytes) -> Response:
    """Run one query."""
    read_query(allowed=frozenset())
    return jsonify(execute_request(dependencies(), body))
