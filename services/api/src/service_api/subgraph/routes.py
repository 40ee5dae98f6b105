"""``POST /subgraph``: GraphQL over the indexed Hub log."""

from typing import Final

import orjson
from bounty_protocol.shapes import to_json
from bounty_protocol.wire.subgraph import (
    MEDIA_TYPE,
    GraphqlAnswer,
    GraphqlJsonRefusal,
    GraphqlRefusal,
    GraphqlRequest,
)
from flask import Blueprint, Response
from graphql import GraphQLError, execute_sync, print_schema
from service_common.db.hub_facts import FactSource
from service_common.db.hub_reads import Head
from service_common.places import Places
from service_common.web.authentication import public, public_body, read_query
from service_common.web.callers import Callers
from service_common.web.dependencies import provided
from service_common.web.problems import Refusals, negotiated

from service_api.config import ApiConfig
from service_api.openapi.description import Described
from service_api.subgraph.request import MAX_REQUEST_BYTES, read_request, refuse
from service_api.subgraph.rows import Reads, overloaded, resolve
from service_api.subgraph.schema import make_schema
from service_api.versions import index_headers

REFUSALS: Final[Refusals] = {"application/json": GraphqlJsonRefusal, MEDIA_TYPE: GraphqlRefusal}
"""The answer to a refused query, by media type."""
QUERY_SECONDS: Final = 0.02
"""Processor time of a query that counts as one."""
AT_A_TIME: Final = 4
"""Requests of one process, so that their rows fit its memory."""
WAIT_SECONDS: Final = 2.0
_places = Places()

routes = Blueprint("subgraph", __name__)


@routes.route("/subgraph", methods=["POST"])
@Described(
    GraphqlAnswer,
    ("bounty_projection_unavailable",),
    body=GraphqlRequest,
    example={
        "query": "query ($n: Int!) { bounties(first: $n) { id } _meta { block { number } } }",
        "variables": {"n": 2},
    },
    refusals=REFUSALS,
    indexed=True,
)
@public_body("application/json", MAX_REQUEST_BYTES)
def post_subgraph(body: bytes) -> Response:
    """GraphQL over the indexed Hub log: `query`, `variables`, `operationName`."""
    callers, config = provided(Callers), provided(ApiConfig)
    with (
        callers.place("queries", config.at_once.queries, patience=WAIT_SECONDS),
        callers.work(config.budgets.subgraph, QUERY_SECONDS),
    ):
        read_query(allowed=frozenset())
        # The encoder of the standard library keeps every other thread waiting for 10 ms while it writes 2 MiB.
        head, found = execute_request(provided(FactSource), body)
        return Response(orjson.dumps(to_json(found)), headers=index_headers(head), mimetype=negotiated(REFUSALS))


@routes.route("/subgraph/schema.graphql", methods=["GET"])
@Described("text/plain")
@public
def get_subgraph_schema() -> Response:
    """The schema of `/subgraph` as SDL, for code generators."""
    read_query(allowed=frozenset())
    return Response(print_schema(make_schema()) + "\n", mimetype="text/plain")


def execute_request(source: FactSource, body: bytes) -> tuple[Head, GraphqlAnswer]:
    """Return how far the index is, and the answer to ``{"query": …, "variables": …, "operationName": …}``."""
    refusal = overloaded("Too many GraphQL requests run at the moment.")
    with _places.hold("queries", AT_A_TIME, patience=WAIT_SECONDS, refusal=refusal):
        document, request = read_request(body)
        with source.open() as facts:
            result = execute_sync(
                make_schema(),
                document,
                context_value=Reads(facts.connection, facts.head),
                variable_values=request.variables or {},
                operation_name=request.operationName or None,
                field_resolver=resolve,
            )
            for error in result.errors or ():
                cause = error.original_error
                if error.path is None or cause is None or isinstance(cause, GraphQLError):
                    refuse(error.message)
                raise cause
            return facts.head, GraphqlAnswer(result.data)
