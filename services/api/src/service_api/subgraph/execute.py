"""Answering one GraphQL request in one moment of the index.

Few requests run at a time in one process, so that their rows fit its memory.
"""

from threading import BoundedSemaphore
from typing import Final

from bounty_protocol.wire.subgraph import GraphqlAnswer
from graphql import GraphQLError, execute_sync
from service_common.db.hub_facts import FactSource

from service_api.places import place_at
from service_api.read_answer import ReadAnswer
from service_api.subgraph.request import read_request, refuse
from service_api.subgraph.rows import Reads, overloaded, resolve
from service_api.subgraph.schema import make_schema

AT_A_TIME: Final = 4
WAIT_SECONDS: Final = 2.0
_places = BoundedSemaphore(AT_A_TIME)


def execute_request(source: FactSource, body: bytes) -> ReadAnswer[GraphqlAnswer]:
    """Answer ``{"query": …, "variables": …, "operationName": …}`` in GraphQL's own shape (``data``)."""
    with place_at(_places, overloaded("Too many GraphQL requests run at the moment."), WAIT_SECONDS):
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
            return ReadAnswer(GraphqlAnswer(result.data), facts.head)
