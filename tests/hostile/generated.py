"""Requests made from the published interface: of every operation of the OpenAPI document, with GraphQL from its schema.

What is drawn is of the documented shape, with values that exist mixed with values that do not; ``mutate`` then makes a
stranger's request of it.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast
from urllib.parse import quote, unquote, urlencode

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLObjectType,
    get_introspection_query,
    get_named_type,
    get_nullable_type,
)
from service_api.subgraph.schema import make_schema

from tests.api.contract import openapi_document, operations

STRANGE: Final = (
    "", "0", "-1", "01", "null", "true", "1e400", "9" * 30, "0x", "0X" + "aB" * 20, "0x" + "g" * 40, "%00", "\0",
    "\x7f", "é", "\u2028", "\U0001f600", "../../x", "a" * 2_000, "'; --", "{}", "[", '"', "\\ud800", " ", "\r\n", "١",
)  # fmt: skip
VALUES: Final[tuple[object, ...]] = (
    None, True, 0, -1, 2**63, 2**256, 1.5, "", "\0", "\ud800", "x" * 5_000, [], [[]], {}, {"a": None}, [0] * 500,
)  # fmt: skip
TEXTS: Final = (
    "A body.\n",
    "---\na: [b, {c: d}]\n---\nBody\n",
    "---\n",
    "# \U0001f600\n" * 200,
    "---\na: &b *b\n---\nx",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: target and body as they are sent, without a signature."""

    method: str
    path: str
    query: str = ""
    media_type: str | None = None
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def target(self) -> str:
        return self.path + (f"?{self.query}" if self.query else "")


@dataclass(frozen=True, slots=True)
class Known:
    """What exists: for each named value of the document, and whole bodies by media type."""

    values: Mapping[str, Sequence[str]]
    bodies: Mapping[str, Sequence[bytes]]


class Generator:
    """Draws requests; the same for the same ``chance``."""

    def __init__(self, chance: random.Random, known: Known) -> None:
        self._chance, self._known = chance, known

    def request(self) -> Asked:
        """One of the operations, asked as the document says."""
        operation, query, headers = self._chance.choice(operations()), {}, []
        path = operation.path
        for parameter in operation.parameters:
            value = self._text(parameter["schema"])
            if parameter["in"] == "path":
                path = path.replace(f"{{{parameter['name']}}}", quote(value, safe=""))
            elif parameter["in"] == "header":
                headers.append((parameter["name"], self._chance.choice(('"x"', "*", "W/", "x" * 500))))
            elif parameter["required"] or self._chance.random() < 0.4:
                query[parameter["name"]] = value
        sent = self._chance.sample(headers, self._chance.randint(0, len(headers)))
        asked = Asked(operation.method, path, urlencode(query), headers=tuple(sent))
        if operation.body_type is None:
            return asked
        body = self._body(path, operation.body_type, operation.body["schema"])
        return replace(asked, media_type=operation.body_type, body=body)

    def _body(self, path: str, media_type: str, schema: Mapping[str, Any]) -> bytes:
        known = self._known.bodies.get(media_type, ())
        if path == "/subgraph":
            return json.dumps(self._graphql()).encode()
        if known and self._chance.random() < 0.3:
            return self._chance.choice(known)
        if media_type != "application/json":
            return self._chance.choice(TEXTS).encode()
        return json.dumps(self._value(schema)).encode()

    def _text(self, schema: Mapping[str, Any]) -> str:
        value = self._value(schema)
        return value if isinstance(value, str) else json.dumps(value)

    def _value(self, schema: Mapping[str, Any]) -> object:
        """Of the part of JSON Schema that the document uses."""
        chance = self._chance
        if "$ref" in schema:
            return self._named(schema["$ref"].rpartition("/")[2])
        if "enum" in schema:
            return chance.choice(schema["enum"])
        kinds = schema.get("type", "string")
        kind = kinds if isinstance(kinds, str) else chance.choice(kinds)
        if kind == "object":
            properties, required = schema.get("properties", {}), schema.get("required", ())
            return {
                name: self._value(each)
                for name, each in properties.items()
                if name in required or chance.random() < 0.5
            }
        if kind == "array":
            return [self._value(schema["items"]) for _ in range(chance.randrange(4))]
        if kind == "integer":
            return chance.randint(schema.get("minimum", -5), schema.get("maximum", 10 ** chance.randrange(1, 20)))
        return {"boolean": chance.random() < 0.5, "null": None}.get(kind, chance.choice(STRANGE))

    def _named(self, name: str) -> object:
        """Of a component: one that exists, one that nobody has, or whatever has its shape."""
        chance, bytes_of = self._chance, {"Address": 20, "Bytes32": 32}
        if (known := self._known.values.get(name)) and chance.random() < 0.7:
            return chance.choice(known)
        if name in bytes_of:
            return "0x" + chance.randbytes(bytes_of[name]).hex()
        if name in {"BountyId", "Amount"}:
            return str(chance.randrange(1, 10 ** chance.randrange(1, 30)))
        return self._value(openapi_document()["components"]["schemas"][name])

    def _graphql(self) -> dict[str, object]:
        if self._chance.random() < 0.02:
            return {"query": get_introspection_query()}
        root = cast("GraphQLObjectType", make_schema().query_type)
        return {"query": f"query Q {self._selection(root, 1)}", "variables": {}, "operationName": "Q"}

    def _selection(self, of: GraphQLObjectType, depth: int) -> str:
        chosen = self._chance.sample(sorted(of.fields), min(len(of.fields), self._chance.randint(1, 4)))
        written = []
        for number, name in enumerate(chosen):
            field, arguments = of.fields[name], ""
            kind = get_named_type(field.type)
            is_object = isinstance(kind, GraphQLObjectType)
            if is_object and depth > 3:
                continue
            given = [self._argument(*each) for each in field.args.items() if self._is_given(*each)]
            arguments = f"({', '.join(given)})" if given else ""
            alias = f"a{number}: " if self._chance.random() < 0.3 else ""
            below = self._selection(kind, depth + 1) if isinstance(kind, GraphQLObjectType) else ""
            written.append(f"{alias}{name}{arguments}{below}")
        return "{ " + " ".join(written or ["__typename"]) + " }"

    def _is_given(self, name: str, argument: GraphQLArgument) -> bool:
        return name == "id" or self._chance.random() < 0.3

    def _argument(self, name: str, argument: GraphQLArgument) -> str:
        return f"{name}: {self._literal(argument.type)}"

    def _literal(self, kind: Any) -> str:
        chance, kind = self._chance, get_nullable_type(kind)
        if isinstance(kind, GraphQLList):
            return "[" + ", ".join(self._literal(kind.of_type) for _ in range(chance.randrange(4))) + "]"
        if isinstance(kind, GraphQLEnumType):
            return str(chance.choice(sorted(kind.values)))
        if isinstance(kind, GraphQLInputObjectType):
            names = chance.sample(sorted(kind.fields), min(len(kind.fields), chance.randrange(4)))
            return "{" + ", ".join(f"{name}: {self._literal(kind.fields[name].type)}" for name in names) + "}"
        if kind.name in {"Int", "Integer"}:
            return str(chance.choice((0, 1, 5, 1_000, 1_001, 5_000, 2**31 - 1, -1, chance.randrange(2**40))))
        known = [value for values in self._known.values.values() for value in values]
        return json.dumps(chance.choice(known) if chance.random() < 0.7 else chance.choice(STRANGE))


def mutate(chance: random.Random, asked: Asked) -> Asked:
    """Another request."""
    for _ in range(chance.choice((1, 1, 2, 3))):
        asked = chance.choice(_MUTATIONS)(chance, asked)
    return asked


def _method(chance: random.Random, asked: Asked) -> Asked:
    return replace(asked, method=chance.choice(("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "BREW")))


def _path(chance: random.Random, asked: Asked) -> Asked:
    parts = [unquote(part) for part in asked.path.split("/")]
    place = chance.randrange(1, len(parts))
    parts[place] = chance.choice((*STRANGE, parts[place] + chance.choice(STRANGE), parts[place].upper(), ".."))
    return replace(asked, path="/".join(quote(part, safe=":@!$&'()*+,;=") for part in parts))


def _query(chance: random.Random, asked: Asked) -> Asked:
    name = chance.choice(("cursor", "limit", "status", "poster_address", "x", ""))
    added = chance.choice((urlencode({name: chance.choice(STRANGE)}), "&", "=", "a", "a=%", "a=%ff", asked.query))
    return replace(asked, query=chance.choice((added, f"{asked.query}&{added}", asked.query[:-1])))


def _media_type(chance: random.Random, asked: Asked) -> Asked:
    kinds = (None, "application/json", "text/markdown", "application/json; charset=utf-16", "x", "a" * 500)
    return replace(asked, media_type=chance.choice(kinds))


def _header(chance: random.Random, asked: Asked) -> Asked:
    added = chance.choice(
        (
            ("X-Forwarded-For", chance.choice(("6.6.6.6", "x, y", "::1"))),
            ("X-Correlation-Id", "y" * chance.randrange(80)),
            ("Accept-Encoding", "gzip, br;q=x"),
            ("Range", "bytes=5-1"),
            ("traceparent", "00-" + "f" * 32 + "-1-x"),
            ("Expect", "100-continue"),
            ("Cookie", "session=x; =; " + "a" * 200),
        )
    )
    return replace(asked, headers=(*asked.headers, added))


def _bytes(chance: random.Random, asked: Asked) -> Asked:
    body, at = asked.body, chance.randrange(len(asked.body) + 1)
    changed = (
        body[:at] + chance.randbytes(2) + body[at + 1 :],
        body[:at],
        body + body,
        b"",
        chance.choice(STRANGE).encode("utf-8", "surrogatepass"),
        b"[" * chance.choice((100, 3_000)),
        b"x" * chance.choice((70_000, 300_000)),
    )
    return replace(asked, body=chance.choice(changed))


def _json(chance: random.Random, asked: Asked) -> Asked:
    """A value of the body, changed wherever it is."""
    try:
        value = json.loads(asked.body)
    except (ValueError, RecursionError):
        return asked
    return replace(asked, body=json.dumps(_changed(chance, value)).encode())


def _changed(chance: random.Random, value: object) -> object:
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice(sorted(value))
        kept = {each: value[each] for each in value if each != name}
        return chance.choice((kept, {**kept, name: _changed(chance, value[name])}, {**value, "more": 1}))
    if isinstance(value, list) and value and chance.random() < 0.8:
        place = chance.randrange(len(value))
        return [*value[:place], _changed(chance, value[place]), *value[place + 1 :]]
    if isinstance(value, str) and value and chance.random() < 0.5:
        at = chance.randrange(len(value))
        return value[:at] + chance.choice(STRANGE) + value[at + 1 :]
    return chance.choice(VALUES)


_MUTATIONS: Final[Sequence[Callable[[random.Random, Asked], Asked]]] = (
    _method, _path, _query, _media_type, _header, _bytes, _json, _json, _json,
)  # fmt: skip
