"""Every answer a test gets is held against the published document: its status, its error code and its whole shape.

So is every request that was taken.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from jsonschema import Draft202012Validator
from service_api.openapi.document import Published
from werkzeug.test import TestResponse

from tests import offline

NOWHERE = {"route_not_found", "method_not_allowed", "api_unreachable"}
"""Of a path or a method that is no operation."""
Json = Mapping[str, Any]


@cache
def openapi_document() -> Json:
    """The document that the api publishes, whatever it is connected to."""
    found: Json = json.loads(Published(offline.api()).json.body)
    return found


@dataclass(frozen=True)
class Operation:
    """One operation of the document."""

    method: str
    path: str
    described: Json = field(compare=False, repr=False)
    parameters: tuple[Json, ...] = field(compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def codes(self) -> set[str]:
        """Every error code that it announces."""
        return {code for status in self.described["responses"] for code in documented(self.described, status)}

    @property
    def signer(self) -> str | None:
        """Who signs it; None of a public one."""
        text: str = self.described.get("description", "")
        first, _, _ = " ".join(text.split()).partition(". ")
        return first.removeprefix("Signed by ").removesuffix(".") if self.described["security"] else None

    @property
    def body_type(self) -> str | None:
        """The media type of its body; None where it takes none."""
        return next(iter(self.described.get("requestBody", {}).get("content", ())), None)

    @property
    def body(self) -> Json:
        """What stands for its body: the schema, and an example."""
        found: Json = self.described["requestBody"]["content"][self.body_type]
        return found

    def query(self, *, required: bool) -> list[str]:
        """The names of its query, required or not."""
        return [each["name"] for each in self.parameters if each["in"] == "query" and each["required"] is required]


@cache
def operations() -> tuple[Operation, ...]:
    """All of them."""
    return tuple(
        Operation(name.upper(), path, methods[name], (*methods.get("parameters", ()), *methods[name]["parameters"]))
        for path, methods in openapi_document()["paths"].items()
        for name in methods
        if name != "parameters"
    )


def operation(named: str) -> Operation:
    """``POST /subgraph``."""
    (found,) = (each for each in operations() if str(each) == named)
    return found


class CheckedClient(FlaskClient):
    """A client that refuses answers the document does not describe, and requests that it forbids and that are taken."""

    def open(self, *args: Any, **kwargs: Any) -> TestResponse:
        response = super().open(*args, **kwargs)
        asked, media_type = response.request, response.mimetype or ""
        check_answer(asked.method, asked.path, response.status_code, media_type, response.data)
        check_fields(asked.method, asked.path, response)
        body = kwargs.get("data")
        if response.status_code in {200, 201} and body:
            check_body(asked.method, asked.path, body)
        return response


def checked_client(app: Flask) -> FlaskClient:
    """A client of ``app`` that holds every answer against the published document."""
    app.test_client_class = CheckedClient
    return app.test_client()


def check_answer(method: str, path: str, status: int, media_type: str, body: bytes) -> None:
    """Raise unless the answer is one of the operation's."""
    asked = find_operation(method, path)
    if status >= 400:
        value = json.loads(body)
        refused = asked.described["responses"].get(str(status), {}) if asked is not None else {}
        stated = refused.get("content", {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}})
        assert violations(value, stated[media_type]["schema"]) == []
        code = value["error"]["code"] if "error" in value else value["errors"][0]["extensions"]["code"]
        assert asked is None or code in NOWHERE or code in documented(asked.described, str(status)), (asked, code)
    elif asked is not None:
        content = asked.described["responses"][str(status)].get("content", {})
        if content:
            assert media_type in content
        else:
            assert body == b""
        if media_type.endswith("json"):
            assert violations(json.loads(body), content[media_type]["schema"]) == [], asked


def check_fields(method: str, path: str, response: TestResponse) -> None:
    """Raise unless the answer has header fields that are announced, and those that its status must have."""
    asked, status = find_operation(method, path), response.status_code
    if asked is None or str(status) not in asked.described["responses"]:
        return  # of no route: ``check_answer`` has seen to that
    announced = set(asked.described["responses"][str(status)]["headers"])
    sent = {name for name in openapi_document()["components"]["headers"] if name in response.headers}
    must = {401: {"WWW-Authenticate"}, 429: {"Retry-After"}, 503: {"Retry-After"}}.get(status, set())
    assert sent <= announced, (asked, status, sent - announced)
    assert must | {"X-Correlation-Id"} | ({"ETag"} & announced) <= sent, (asked, status, sent)


def check_body(method: str, path: str, body: bytes | str) -> None:
    """Raise unless a JSON body is of the shape that the operation declares."""
    asked = find_operation(method, path)
    if asked is not None and asked.body_type == "application/json":
        assert violations(json.loads(body), asked.body["schema"]) == [], asked


def documented(described: Json, status: str) -> set[str]:
    """The error codes an operation names for a status."""
    content = described["responses"].get(status, {}).get("content", {})
    return {code for each in content.values() for code in each.get("examples", ())}


def find_operation(method: str, path: str) -> Operation | None:
    """The operation behind a request."""
    for each in operations():
        if each.method == method and re.fullmatch(re.sub(r"{\w+}", "[^/]+", each.path), path):
            return each
    return None


def violations(value: object, schema: Json) -> list[str]:
    """Where ``value`` is not of ``schema``."""
    validator = _validator(json.dumps(schema, sort_keys=True))
    return [f"{found.json_path}: {found.message}" for found in validator.iter_errors(value)]


@cache
def _validator(schema: str) -> Draft202012Validator:
    return Draft202012Validator({**json.loads(schema), "components": openapi_document()["components"]})
