"""``POST /subgraph``: GraphQL over the indexed Hub log."""

from flask import Response, jsonify
from flask_smorest import Blueprint
from graphql import print_schema
from service_common.web.authentication import public, public_json, read_query

from service_api.dependencies import dependencies
from service_api.graphql.execute import WAIT_SECONDS, execute_request
from service_api.graphql.request import MAX_REQUEST_BYTES
from service_api.graphql.schema import make_schema

routes = Blueprint("subgraph", __name__, description="The indexed Hub log as GraphQL")


@routes.route("/subgraph", methods=["POST"])
@public_json(MAX_REQUEST_BYTES)
def post_subgraph(body: bytes) -> Response:
    """Run one query."""
    deps = dependencies()
    with deps.callers.turn("queries", deps.config.at_once.queries, patience=WAIT_SECONDS):
        deps.callers.charge(deps.config.budgets.subgraph)
        read_query(allowed=frozenset())
        return jsonify(execute_request(deps, body))


@routes.route("/subgraph/schema.graphql", methods=["GET"])
@public
def get_subgraph_schema() -> Response:
    """The schema as a document in GraphQL's own language."""
    read_query(allowed=frozenset())
    return Response(print_schema(make_schema()) + "\n", mimetype="text/plain")
