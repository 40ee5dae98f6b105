"""Every answer a test gets is held against the published document: its status, its error code and its whole shape."""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from flask.testing import FlaskClient
from service_api.openapi.document import openapi_document
from werkzeug.test import TestResponse

NOWHERE = {"route_not_found", "method_not_allowed"}
"""Of a path or a method that is no operation."""


class CheckedClient(FlaskClient):
    """A client that refuses answers the document does not describe."""

    def open(self, *args: Any, **kwargs: Any) -> TestResponse:
        response = super().open(*args, **kwargs)
        asked, media_type = response.request, response.mimetype or ""
        check_answer(asked.method, asked.path, response.status_code, media_type, response.data)
        return response


def check_answer(method: str, path: str, status: int, media_type: str, body: bytes) -> None:
    """Raise unless the answer is one of the operation's."""
    operation = find_operation(method, path)
    if status >= 400:
        value = json.loads(body)
        assert violations(value, {"$ref": "#/components/schemas/Error"}) == []
        code = value["error"]["code"]
        assert operation is None or code in NOWHERE or code in documented(operation, str(status)), (method, path, code)
    elif operation is not None and status != 304:
        (announced_type, content), *_ = operation["responses"][str(status)]["content"].items()
        assert media_type == announced_type
        if media_type == "application/json":
            assert violations(json.loads(body), content["schema"]) == [], (method, path)


def documented(operation: Mapping[str, Any], status: str) -> set[str]:
    """The error codes an operation names for a status."""
    answer = operation["responses"].get(status)
    return set(answer["content"]["application/json"]["examples"]) if answer else set()


def find_operation(method: str, path: str) -> Mapping[str, Any] | None:
    """The operation behind a request."""
    for template, methods in paths().items():
        if re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), path):
            found: Mapping[str, Any] | None = methods.get(method.lower())
            return found
    return None


def paths() -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", openapi_document()["paths"])


def violations(value: object, schema: Mapping[str, Any], at: str = "$") -> list[str]:
    """Where ``value`` is not of ``schema``: the part of JSON Schema that the document uses."""
    if "$ref" in schema:
        components = cast("Mapping[str, Any]", openapi_document()["components"])["schemas"]
        return violations(value, components[schema["$ref"].rpartition("/")[2]], at)
    if "oneOf" in schema:
        tried = [violations(value, each, at) for each in schema["oneOf"]]
        return [] if [] in tried else min(tried, key=len)
    kinds = schema.get("type", "any")
    if not any(_is(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        return [f"{at}: {value!r} is not {kinds}"]
    if isinstance(value, dict):
        return _of_object(value, schema, at)
    if isinstance(value, list):
        items = schema.get("items", {})
        return [each for i, item in enumerate(value) for each in violations(item, items, f"{at}[{i}]")]
    fits = value in schema.get("enum", [value]) and re.search(schema.get("pattern", ""), str(value))
    return [] if fits else [f"{at}: {value!r} is not of {schema}"]


def _of_object(value: Mapping[str, object], schema: Mapping[str, Any], at: str) -> list[str]:
    properties, further = schema.get("properties", {}), schema.get("additionalProperties", True)
    found = [f"{at}: {name} is missing" for name in schema.get("required", []) if name not in value]
    for name, item in value.items():
        if name in properties:
            found += violations(item, properties[name], f"{at}.{name}")
        elif further is False:
            found.append(f"{at}: {name} is not a key of it")
        elif isinstance(further, dict):
            found += violations(item, further, f"{at}.{name}")
    return found


def _is(value: object, kind: str) -> bool:
    if kind == "any":
        return True
    if isinstance(value, bool):
        return kind == "boolean"
    classes = {"string": str, "integer": int, "number": (int, float), "object": dict, "array": list, "null": type(None)}
    return kind in classes and isinstance(value, classes[kind])  # type: ignore[arg-type]
