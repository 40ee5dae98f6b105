"""Running one GraphQL request within limits of size, depth and cost.

Promises: one request sees one moment of the index; a query that is malformed, too deep or too expensive is 400
``invalid_request``; answers have GraphQL's own shape (``data``) and no library text reaches the caller.
"""

import json
from typing import Final

from graphql import DocumentNode, GraphQLError, GraphQLSyntaxError, execute_sync, parse, validate
from graphql.language import FieldNode, FragmentSpreadNode, OperationDefinitionNode, SelectionSetNode
from service_common.errors import Issue, ServiceError
from service_common.log import get_logger

from service_api.dependencies import Dependencies
from service_api.graphql.schema import CostExceeded, Request, make_schema

MAX_REQUEST_BYTES: Final = 16 * 1024
MAX_TOKENS: Final = 1_000
MAX_DEPTH: Final = 8
MAX_ROWS: Final = 5_000

log = get_logger(__name__)


def execute_request(deps: Dependencies, body: bytes) -> dict[str, object]:
    """Answer ``{"query": …, "variables": …, "operationName": …}``."""
    query, variables, operation = _read(body)
    document = _parse(query)
    with deps.facts.open() as facts:
        result = execute_sync(
            make_schema(),
            document,
            context_value=Request(facts, MAX_ROWS),
            variable_values=variables,
            operation_name=operation,
        )
    if result.errors:
        raise _refusal(result.errors[0])
    return {"data": result.data}


def _read(body: bytes) -> tuple[str, dict[str, object], str | None]:
    try:
        value = json.loads(body)
        query, variables = value["query"], value.get("variables") or {}
        operation = value.get("operationName")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise _invalid("must be a JSON object with a query") from None
    unknown = set(value) - {"query", "variables", "operationName"}
    if not isinstance(query, str) or not isinstance(variables, dict) or unknown:
        raise _invalid("must hold query, variables and operationName only")
    return query, variables, operation if isinstance(operation, str) else None


def _parse(query: str) -> DocumentNode:
    try:
        document = parse(query, max_tokens=MAX_TOKENS)
    except GraphQLSyntaxError as error:
        raise _invalid(f"is not GraphQL: {error.message}"[:500]) from None
    errors = validate(make_schema(), document, max_errors=5)
    if errors:
        raise _invalid("; ".join(error.message for error in errors)[:1000])
    for definition in document.definitions:
        if isinstance(definition, OperationDefinitionNode) and _depth(definition.selection_set) > MAX_DEPTH:
            raise _invalid(f"is nested more than {MAX_DEPTH} levels deep")
    if any(isinstance(node, FragmentSpreadNode) for node in _selections(document)):
        raise _invalid("must not use fragments")
    return document


def _selections(document: DocumentNode) -> list[object]:
    found: list[object] = []
    for definition in document.definitions:
        pending = [getattr(definition, "selection_set", None)]
        while pending:
            selected = pending.pop()
            for node in selected.selections if selected else ():
                found.append(node)
                pending.append(getattr(node, "selection_set", None))
    return found


def _depth(selected: SelectionSetNode | None) -> int:
    if selected is None:
        return 0
    return 1 + max(
        (_depth(node.selection_set) if isinstance(node, FieldNode) else 1 for node in selected.selections), default=0
    )


def _refusal(error: GraphQLError) -> ServiceError:
    original = error.original_error
    if isinstance(original, CostExceeded):
        return _invalid(f"asks for more than {MAX_ROWS} rows; ask for fewer, or page with first and skip")
    if isinstance(original, ValueError):
        return _invalid(str(original)[:500])
    if original is None:
        return _invalid(error.message[:500])
    raise original


def _invalid(what: str) -> ServiceError:
    return ServiceError("invalid_request", "The GraphQL request cannot be run.", issues=[Issue("query", what)])
