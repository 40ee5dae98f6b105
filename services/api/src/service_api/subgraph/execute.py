"""Answering one GraphQL request: read and measure it, load its rows in one moment of the index, write the answer.

The database is held only while rows are loaded, which has a limit of time; reading and writing, which take processor
time, come before and after it. Few requests run at a time in one process, so that their rows fit its memory.
"""

from threading import BoundedSemaphore
from typing import Final

from bounty_protocol.errors import ServiceError
from bounty_protocol.wire.subgraph import GraphqlAnswer
from graphql import execute_sync
from service_common.db.hub_facts import FactSource
from service_common.db.hub_reads import Head

from service_api.places import place_at
from service_api.read_answer import ReadAnswer
from service_api.subgraph.request import GraphQLRequest, read_request, refuse
from service_api.subgraph.rows import Row, TookTooLong, load, plan, wanted_block
from service_api.subgraph.schema import make_schema

AT_A_TIME: Final = 4
WAIT_SECONDS: Final = 2.0
_places = BoundedSemaphore(AT_A_TIME)


def execute_request(source: FactSource, body: bytes) -> ReadAnswer[GraphqlAnswer]:
    """Answer ``{"query": …, "variables": …, "operationName": …}`` in GraphQL's own shape (``data``)."""
    with place_at(_places, _overloaded("Too many GraphQL requests run at the moment."), WAIT_SECONDS):
        request = read_request(body)
        rows = _rows(source, request)
        return ReadAnswer(GraphqlAnswer(_answer(request, rows.head, rows.value)), rows.head)


def _rows(source: FactSource, request: GraphQLRequest) -> ReadAnswer[Row]:
    fetches, wanted = plan(request), wanted_block(request)
    try:
        with source.open() as facts:
            if facts.head.block_number < wanted:
                raise _too_early(facts.head.block_number, wanted)
            return ReadAnswer(load(facts.connection, fetches), facts.head)
    except TookTooLong:
        raise _overloaded("The query took too long.") from None


def _answer(request: GraphQLRequest, head: Head, root: Row) -> dict[str, object] | None:
    result = execute_sync(
        make_schema(),
        request.document,
        root_value=root,
        context_value=head,
        variable_values=request.variables,
        operation_name=request.operation.name.value if request.operation.name else None,
    )
    for error in result.errors or ():
        if error.original_error is not None:
            raise error.original_error
        refuse(error.message)
    return result.data


def _too_early(reached: int, wanted: int) -> ServiceError:
    message = f"The index has reached block {reached}, and the query asks for {wanted}. Ask again soon."
    return ServiceError("bounty_projection_unavailable", message, retry_after=2)


def _overloaded(what: str) -> ServiceError:
    return ServiceError("service_overloaded", f"{what} Ask for less, or try again later.", retry_after=2)
