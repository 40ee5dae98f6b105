"""Reading one GraphQL request within bounds, before anything is looked up.

A query is measured before it is validated: the bytes, the tokens, and the number of fields once every fragment is
expanded where it is spread. Validation compares the fields at one place of the answer with each other, so their number
is bounded, too. Messages are the library's own for GraphQL mistakes and ours for the rest.
"""

import json
import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NoReturn

from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.foreign_json import refuse_nesting
from graphql import (
    DocumentNode,
    FieldNode,
    FloatValueNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    InlineFragmentNode,
    IntValueNode,
    Node,
    OperationDefinitionNode,
    SelectionSetNode,
    get_operation_ast,
    parse,
    specified_rules,
    validate,
)
from graphql.execution import VariableValues, get_variable_values
from graphql.validation import MaxIntrospectionDepthRule

from service_api.subgraph.schema import make_schema

MAX_REQUEST_BYTES: Final = 16 * 1024
MAX_TOKENS: Final = 1_000
MAX_DIGITS: Final = 100
"""Characters of a number in a query: amounts have 78, and are strings."""
MAX_FIELDS: Final = 300
"""Fields and fragments of a query with every fragment written out; the standard introspection query has about 170."""
MAX_SAME_FIELDS: Final = 25
"""Times that one place of the answer is named: every two of them are compared."""
MAX_DEPTH: Final = 8
"""Levels of fields; introspection, whose depth has a rule of its own, apart."""
MAX_INTROSPECTIONS: Final = 2
"""Times that ``__schema`` and ``__type`` may be in one query: a client's query names each once."""
MAX_KEPT_LETTERS: Final = 1_000
KEPT_QUERIES: Final = 32
"""Of at most that length: about 2 MB where somebody sends as many of the worst."""
_RULES: Final = tuple(dict.fromkeys((*specified_rules, MaxIntrospectionDepthRule)))


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    """A valid request: the document, the operation in it that is to run, and the values of its variables."""

    document: DocumentNode
    operation: OperationDefinitionNode
    fragments: dict[str, FragmentDefinitionNode]
    variables: dict[str, Any]
    values: VariableValues


def read_request(body: bytes) -> GraphQLRequest:
    """Read ``{"query": …, "variables": …, "operationName": …, "extensions": …}``; 400 ``invalid_request`` for anything
    else."""
    query, variables, name = _read_json(body)
    document, fragments = _kept(query) if len(query) <= MAX_KEPT_LETTERS else _checked(query)
    operation = get_operation_ast(document, name)
    if operation is None:
        refuse("must hold one operation, or operationName must name one of it")
    values = get_variable_values(make_schema(), operation.variable_definitions or (), variables, max_errors=5)
    if not isinstance(values, VariableValues):
        refuse("; ".join(error.message for error in values))
    return GraphQLRequest(document, operation, fragments, variables, values)


def _checked(query: str) -> tuple[DocumentNode, dict[str, FragmentDefinitionNode]]:
    """A query's document, within bounds and valid, and its fragments by their names."""
    try:
        # Without locations: a document with them is one great circle of tokens, which only the garbage collector frees.
        document = parse(query, no_location=True, max_tokens=MAX_TOKENS)
        _check_numbers(document)
        fragments = {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}
        _measure(document, fragments)
        if errors := validate(make_schema(), document, _RULES, max_errors=5):
            refuse("; ".join(error.message for error in errors))
    except GraphQLError as error:
        refuse(error.message)
    except RecursionError:
        refuse("is nested too deep")
    return document, fragments


_kept: Final = lru_cache(KEPT_QUERIES)(_checked)
"""Programs send the same few texts; checking one takes longer than what it asks for."""


def refuse(what: str) -> NoReturn:
    """Refuse the request: 400 ``invalid_request``."""
    raise ServiceError(
        "invalid_request", "The GraphQL request cannot be run.", issues=[Issue("query", what[:1_000])]
    ) from None


def _read_json(body: bytes) -> tuple[str, dict[str, Any], str | None]:
    try:
        refuse_nesting(body)
        value = json.loads(body.decode("utf-8"), parse_float=_finite, parse_constant=_finite)
    except ValueError:
        refuse("must be a JSON object with a query, its numbers within the range of a double")
    if not isinstance(value, dict) or set(value) - {"query", "variables", "operationName", "extensions"}:
        refuse("must hold query, variables, operationName and extensions only")
    if not isinstance(value.get("extensions"), dict | None):  # read by nobody here: clients send theirs with each query
        refuse("must hold extensions as an object")
    query, variables, name = value.get("query"), value.get("variables"), value.get("operationName")
    if not isinstance(query, str) or not isinstance(variables, dict | None) or not isinstance(name, str | None):
        refuse("must hold query as a string, variables as an object and operationName as a string")
    return query, variables or {}, name or None


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError("not a finite number")
    return number


@dataclass(frozen=True, slots=True)
class _Size:
    """A selection with its fragments written out."""

    fields: int = 0
    depth: int = 0
    introspections: int = 0

    def __add__(self, other: "_Size") -> "_Size":
        """Both beside each other."""
        return _Size(
            self.fields + other.fields,
            max(self.depth, other.depth),
            self.introspections + other.introspections,
        )


_ONE: Final = _Size(fields=1)
"""A fragment that is spread counts as a field, beside those in it: what is written out stays bounded."""


def _check_numbers(document: DocumentNode) -> None:
    """Refuse numbers that Python would refuse to read, with a message of its own."""
    waiting: list[Node] = [document]
    while waiting:
        node = waiting.pop()
        if isinstance(node, IntValueNode | FloatValueNode) and len(node.value) > MAX_DIGITS:
            refuse(f"holds a number of more than {MAX_DIGITS} digits")
        for key in node.keys:
            below = getattr(node, key)
            waiting.extend(each for each in (below if isinstance(below, tuple) else (below,)) if isinstance(each, Node))


def _measure(document: DocumentNode, fragments: dict[str, FragmentDefinitionNode]) -> None:
    """Refuse a document in which an operation or a fragment is too large."""
    sizes = _Sizes(fragments)
    for definition in document.definitions:
        if isinstance(definition, OperationDefinitionNode):
            size = sizes.of(definition.selection_set, introspected=False)
        elif isinstance(definition, FragmentDefinitionNode):
            on_meta_type = definition.type_condition.name.value.startswith("__")
            size = sizes.of(definition.selection_set, introspected=on_meta_type)
        else:
            continue
        if size.fields > MAX_FIELDS:
            refuse(f"has more than {MAX_FIELDS} fields, with its fragments written out")
        if size.depth > MAX_DEPTH:
            refuse(f"is nested more than {MAX_DEPTH} levels deep")
        if size.introspections > MAX_INTROSPECTIONS:
            refuse(f"asks for __schema and __type more than {MAX_INTROSPECTIONS} times")
        _check_repeats(definition.selection_set, fragments)


def _check_repeats(selections: SelectionSetNode, fragments: dict[str, FragmentDefinitionNode]) -> None:
    """Refuse selections that name one place of the answer too often. They are measured: what is walked is bounded."""
    named = Counter[tuple[str, ...]]()
    waiting: list[tuple[tuple[str, ...], SelectionSetNode | None, frozenset[str]]] = [((), selections, frozenset())]
    while waiting:
        place, found, spread = waiting.pop()
        for node in found.selections if found else ():
            if isinstance(node, FieldNode):
                below = (*place, (node.alias or node.name).value)
                named[below] += 1
                if named[below] > MAX_SAME_FIELDS:
                    refuse(f"names {'.'.join(below)[:200]} more than {MAX_SAME_FIELDS} times")
                waiting.append((below, node.selection_set, spread))
            elif isinstance(node, InlineFragmentNode):
                waiting.append((place, node.selection_set, spread))
            elif isinstance(node, FragmentSpreadNode) and node.name.value not in spread:
                name = node.name.value
                below_it = fragments[name].selection_set if name in fragments else None
                waiting.append((place, below_it, spread | {name}))


class _Sizes:
    """Sizes of selections. Each fragment is measured once, however often it is spread: fragments that spread each other
    twice would double the work with each."""

    def __init__(self, fragments: dict[str, FragmentDefinitionNode]) -> None:
        self._fragments = fragments
        self._known: dict[tuple[str, bool], _Size] = {}
        self._open: set[str] = set()

    def of(self, selections: SelectionSetNode | None, *, introspected: bool) -> _Size:
        """The size of some selections, below ``__schema`` or ``__type`` or not."""
        total = _Size()
        for node in selections.selections if selections else ():
            if isinstance(node, FieldNode):
                total += self._of_field(node, introspected=introspected)
            elif isinstance(node, FragmentSpreadNode):
                total += self._of_fragment(node.name.value, introspected=introspected)
            elif isinstance(node, InlineFragmentNode):
                total += _ONE + self.of(node.selection_set, introspected=introspected)
        return total

    def _of_field(self, node: FieldNode, *, introspected: bool) -> _Size:
        inside = introspected or node.name.value in {"__schema", "__type"}
        if inside and node.alias is not None:
            refuse("must not give fields of __schema and __type other names")
        below = self.of(node.selection_set, introspected=inside)
        started = inside and not introspected
        return _Size(below.fields + 1, 0 if inside else below.depth + 1, below.introspections + started)

    def _of_fragment(self, name: str, *, introspected: bool) -> _Size:
        definition = self._fragments.get(name)
        if definition is None or name in self._open:
            return _ONE  # an unknown or circular fragment, which validation refuses
        if (name, introspected) not in self._known:
            self._open.add(name)
            self._known[name, introspected] = self.of(definition.selection_set, introspected=introspected)
            self._open.remove(name)
        return self._known[name, introspected] + _ONE
