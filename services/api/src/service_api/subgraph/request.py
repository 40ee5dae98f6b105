"""Reading one GraphQL request within bounds, before anything is looked up.

A query is measured before it is validated: the bytes, the tokens, and the number of fields once every fragment is
expanded where it is spread. Validation compares the fields at one place of the answer with each other, so their number
is bounded, too. Messages are the library's own for GraphQL mistakes and ours for the rest.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NoReturn

from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.wire.subgraph import GraphqlRequest
from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    get_operation_ast,
    parse,
    specified_rules,
    validate,
)
from graphql.validation import MaxIntrospectionDepthRule
from service_common.web.parsing import load_json

from service_api.subgraph.schema import make_schema

MAX_REQUEST_BYTES: Final = 16 * 1024
MAX_TOKENS: Final = 1_000
MAX_FIELDS: Final = 300
"""Fields and fragments of a query with every fragment written out; the standard introspection query has about 170."""
MAX_SAME_FIELDS: Final = 25
"""Times that one place of the answer is named: every two of them are compared."""
MAX_LISTS: Final = 20
"""Lists and single rows of a query, each of which is a statement."""
MAX_DEPTH: Final = 8
"""Levels of fields; introspection, whose depth has a rule of its own, apart."""
MAX_INTROSPECTIONS: Final = 2
"""Times that ``__schema`` and ``__type`` may be in one query: a client's query names each once."""
MAX_KEPT_LETTERS: Final = 1_000
KEPT_QUERIES: Final = 32
"""Of at most that length: about 2 MB where somebody sends as many of the worst."""
_LONG_NUMBER: Final = re.compile(r"[0-9]{101}")
"""Amounts have 78 digits; Python would refuse to read thousands with a message of its own."""
_RULES: Final = tuple(dict.fromkeys((*specified_rules, MaxIntrospectionDepthRule)))
_META: Final = ("__schema", "__type")
_NO_ROWS: Final = frozenset({"_meta", "block"})
"""Fields with fields of their own that are no rows."""
_TOP: Final[tuple[str, ...]] = ()
Fragments = Mapping[str, FragmentDefinitionNode]


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """A query that is small enough and valid; ``lists`` counts the lists and single rows it asks for, and
    ``introspections`` its ``__schema`` and ``__type``, with every fragment written out."""

    document: DocumentNode
    lists: int
    introspections: int


def read_request(body: bytes) -> tuple[CheckedQuery, GraphqlRequest]:
    """Read ``{"query": …, "variables": …, "operationName": …, "extensions": …}`` with the query as checked; 400
    ``invalid_request`` for anything else."""
    request = load_json(body, GraphqlRequest, code="invalid_request")
    query = (_kept if len(request.query) <= MAX_KEPT_LETTERS else _checked)(request.query)
    if get_operation_ast(query.document, request.operationName or None) is None:
        refuse("must hold one operation, or operationName must name one of its operations")
    return query, request


def _checked(query: str) -> CheckedQuery:
    """Parse a query; refuse one that is too large or invalid."""
    lists = introspections = 0
    if _LONG_NUMBER.search(query):
        refuse("holds a number of more than 100 digits")
    try:
        # Without locations: a document with them is one great circle of tokens, which only the garbage collector frees.
        document = parse(query, no_location=True, max_tokens=MAX_TOKENS)
        fragments = {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}
        for definition in document.definitions:
            if isinstance(definition, OperationDefinitionNode):
                counted = _measure(definition.selection_set, fragments, is_meta=False)
                lists, introspections = lists + counted[0], introspections + counted[1]
            elif isinstance(definition, FragmentDefinitionNode):
                is_meta = definition.type_condition.name.value.startswith("__")
                _measure(definition.selection_set, fragments, is_meta=is_meta)
        if errors := validate(make_schema(), document, _RULES, max_errors=5):
            refuse("; ".join(error.message for error in errors))
    except GraphQLError as error:
        refuse(error.message)
    except RecursionError:
        refuse("is nested too deeply")
    return CheckedQuery(document, lists, introspections)


_kept: Final = lru_cache(KEPT_QUERIES)(_checked)
"""Programs send the same few texts; checking one takes 2 to 4 ms, longer than what it asks for."""


def refuse(what: str) -> NoReturn:
    """Refuse the request: 400 ``invalid_request``."""
    raise ServiceError(
        "invalid_request", "The GraphQL request cannot be run.", issues=[Issue("query", what[:1_000])]
    ) from None


def _measure(selections: SelectionSetNode, fragments: Fragments, *, is_meta: bool) -> tuple[int, int]:
    """Return how many lists and introspections selections ask for with every fragment written out; refuse too large
    ones.

    ``is_meta`` says whether they belong to ``__schema`` or ``__type``, whose answers nothing else limits.
    """
    introspections, lists, named = 0, 0, Counter[tuple[str, ...]]()
    for node, place, names in _written_out(selections, fragments):
        named[place] += 1
        started = next((each for each in names if each in _META), None)
        introspections += node.name.value == started
        lists += node.selection_set is not None and started is None and node.name.value not in _NO_ROWS
        if named[place] > MAX_SAME_FIELDS:
            refuse(f"names {'.'.join(place)[:200]} more than {MAX_SAME_FIELDS} times")
        if lists > MAX_LISTS and not is_meta:
            refuse(f"asks for more than {MAX_LISTS} lists and rows; ask for the others in another query")
        if introspections > MAX_INTROSPECTIONS:
            refuse(f"asks for __schema and __type more than {MAX_INTROSPECTIONS} times")
        if is_meta or started is not None:
            if node.alias is not None:
                refuse("must not give fields of __schema and __type other names")
        elif len(place) > MAX_DEPTH:
            refuse(f"is nested more than {MAX_DEPTH} levels deep")
        elif "bounty" in names[1:-1] and node.selection_set is not None:  # each row could repeat many others
            refuse("asks for lists below the bounty of a row; ask for them by bounty_id")
    return lists, introspections


def _written_out(
    selections: SelectionSetNode, fragments: Fragments
) -> Iterator[tuple[FieldNode, tuple[str, ...], tuple[str, ...]]]:
    """Yield each field with every fragment written out: its place in the answer, and the names of the fields down to
    it.
    """
    count, waiting = 0, [(selections, _TOP, _TOP)]
    while waiting:
        found, place, names = waiting.pop()
        for node in found.selections:
            count += 1
            if count > MAX_FIELDS:
                refuse(f"has more than {MAX_FIELDS} fields, with its fragments written out")
            if isinstance(node, FieldNode):
                at, named = (*place, (node.alias or node.name).value), (*names, node.name.value)
                yield node, at, named
                if node.selection_set is not None:
                    waiting.append((node.selection_set, at, named))
            elif isinstance(node, InlineFragmentNode):
                waiting.append((node.selection_set, place, names))
            elif isinstance(node, FragmentSpreadNode) and node.name.value in fragments:
                waiting.append((fragments[node.name.value].selection_set, place, names))
