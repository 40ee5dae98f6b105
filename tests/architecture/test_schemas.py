"""Every published schema: keys are snake_case, and an amount is never a number."""

import json
import re
from collections.abc import Iterator

import pytest
from bounty_protocol.domain.challenge.page import challenge_schema
from graphql import GraphQLInputObjectType, GraphQLObjectType, get_named_type
from service_api.subgraph.schema import make_schema

from tests.api.contract import openapi_document, operations

SNAKE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
OTHERS_WORDS = {"operationName"}
"""GraphQL over HTTP names this one."""
GRAPH_WORDS = {"hasIndexingErrors"}
"""The Graph's own; the names of its queries, made from the entities' names, are its convention, too."""
AMOUNT = re.compile(r"(^|_)(amount|amounts|value|fee|escrow|award|refund|balance|claimable)($|_)")
NOT_AMOUNTS = re.compile(r"_bps$|_count$|_policy$|_recipient$|_error$|_token$|_token_address$")


def properties(schema: object, at: str) -> Iterator[tuple[str, str, object]]:
    """Every named property below a JSON Schema: its path, its name and its own schema."""
    if isinstance(schema, dict):
        for name, inner in (schema.get("properties") or {}).items() if "type" in schema else ():
            yield f"{at}.{name}", name, inner
        for key, inner in schema.items():
            yield from properties(inner, f"{at}/{key}")
    elif isinstance(schema, list):
        for inner in schema:
            yield from properties(inner, at)


def published() -> Iterator[tuple[str, str, object]]:
    document = openapi_document()
    yield from properties(document["components"], "openapi")
    yield from properties(document["paths"], "openapi")
    for operation in operations():
        for parameter in operation.parameters:
            if parameter["in"] == "header":
                continue
            yield f"{operation}?{parameter['name']}", parameter["name"], parameter["schema"]
    yield from properties(challenge_schema(), "challenge")


@pytest.mark.spec(40, 86)
def test_schema_keys_are_snake_case() -> None:
    found = list(published())
    assert len(found) > 150
    assert {at for at, name, _ in found if not SNAKE.fullmatch(name) and name not in OTHERS_WORDS} == set()


@pytest.mark.spec(36, 89, 389)
def test_schema_amounts_are_never_numbers() -> None:
    amounts = [(at, inner) for at, name, inner in published() if AMOUNT.search(name) and not NOT_AMOUNTS.search(name)]
    assert len(amounts) >= 8
    assert [at for at, inner in amounts if re.search(r'"type": "(number|integer)"', json.dumps(inner))] == []


@pytest.mark.spec(36, 40, 389)
def test_graphql_amounts_are_strings() -> None:
    amounts = 0
    for name, kind in make_schema().type_map.items():
        if name == "Query" or name.startswith("__") or not isinstance(kind, GraphQLObjectType | GraphQLInputObjectType):
            continue
        for field, described in kind.fields.items():
            words = field.removeprefix("_")
            assert SNAKE.fullmatch(words) or field in GRAPH_WORDS, f"{name}.{field}"
            if AMOUNT.search(field) and not NOT_AMOUNTS.search(field):
                amounts += 1
                assert get_named_type(described.type).name not in {"Int", "Float"}, f"{name}.{field}"
    assert amounts > 3
