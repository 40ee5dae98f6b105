"""The published OpenAPI 3.1 document: what the views of an app declare, and an introduction.

apispec makes it of marshmallow schemas: those that read the requests, and schemas of the answers made the same way.
"""

import inspect
import json
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from apispec.ext.marshmallow.openapi import OpenAPIConverter
from bounty_protocol.auth.header import SCHEME
from bounty_protocol.domain.lifecycle.roster import Roster
from bounty_protocol.errors import PROBLEMS
from bounty_protocol.shapes import to_json
from bounty_protocol.types import Address, BountyId, Bytes32
from bounty_protocol.wire.deployment import RubricDocument
from bounty_protocol.wire.errors import ErrorBody
from bounty_protocol.wire.values import VALUES
from flask import Flask, render_template
from marshmallow import fields
from service_common.web.problems import Refusals
from service_common.web.schemas import FormField, schema_of

from service_api.openapi.description import Described
from service_api.versions import DOCUMENT, Version, json_version, text_version

Json = dict[str, Any]
EVERYWHERE: Final = ("invalid_request", "internal_error", "service_overloaded")
"""Error codes that every operation can answer."""
_OF_BODIES: Final = ("length_required", "payload_too_large", "unsupported_media_type", "unsupported_transfer_encoding")
_INTRODUCTION: Final = (
    "Bounties on a blockchain: the API stores bytes, validates shapes and gates reads against indexed contract state. "
    "It never authorizes money movement and never decides an outcome. Signed operations take one EIP-712 signature "
    "over the exact request, in the header `Authorization: Service-Approval "
    "<base64(address~signature~blockNumber~blockHash)>`; docs/authentication.md describes it with test vectors. "
    "An unknown path answers 404 `route_not_found`; a wrong method answers 405 `method_not_allowed`."
)
_SIGNATURE: Final = "ServiceApproval"
_AUTHORIZATION: Final = {
    "type": "apiKey",
    "in": "header",
    "name": "Authorization",
    "description": "`Service-Approval <base64(address~signature~blockNumber~blockHash)>`: an EIP-712 signature of "
    "struct ApiRequestApproval(endpointId, audience, bodyHash, query, blockNumber, blockHash) in the domain (Service, "
    "1, chain id, Hub), over this exact request and a block of the last five minutes. One signature, one request.",
}
_TAGS: Final = {
    "accounts": "What accounts did",
    "bounties": "Bounties as the chain has them",
    "challenge_specs": "Publishing a challenge page",
    "submissions": "Sealed Submissions",
    "written_verdicts": "Written Verdicts",
    "delivery": "Delivery of the winning work",
    "deployment": "This deployment",
    "index": "The index of the Hub's log",
    "withheld": "What the operator does not show",
    "documents": "Rubric and schemas",
    "subgraph": "The indexed Hub log as GraphQL",
    "health": "Liveness",
}
_PATH_PARAMETERS: Final = {
    "account_address": Address,
    "bounty_id": BountyId,
    "solver_address": Address,
    "submission_commitment": Bytes32,
    "report_commitment": Bytes32,
}
_HEADERS: Final[Mapping[str, str]] = {
    "X-Correlation-Id": "Names this request in the operator's log: the request's own where it sent one.",
    "X-Hub": "The Hub of this deployment as a CAIP-10 account, such as eip155:8453:0x…: each has numbers of its own.",
    "ETag": "The version of the answer; If-None-Match with it gets 304 while there is no other.",
    "Cache-Control": "Who may keep the answer, and for how long.",
    "X-Index-Block": "The newest block of the index that the answer was read of. Answers that follow each other may "
    "come from databases of which one is a little behind.",
    "X-Index-Time": "The time of that block, in Unix seconds.",
    "Retry-After": "Seconds after which the same request may be answered.",
    "WWW-Authenticate": f"The scheme that this route takes: {SCHEME}.",
}
_EVERY_HEADER: Final = ("X-Correlation-Id", "X-Hub", "Cache-Control")
_RETRIED: Final = {429, 502, 503}
_HEALTH: Final = Described("text/plain")
_NAMES: Final[Mapping[type, str]] = {Roster: "GuardianRoster", RubricDocument: "Rubric"}
"""Shapes that the document names otherwise than the code."""


class Published:
    """The document of one app, made when it is first requested."""

    def __init__(self, app: Flask) -> None:
        self._app = app

    @cached_property
    def document(self) -> Json:
        """The whole document."""
        return make_document(self._app)

    @cached_property
    def json(self) -> Version:
        """As it is served to programs."""
        return json_version(self.document, DOCUMENT)

    @cached_property
    def page(self) -> Version:
        """As it is served to people."""
        schemas = {
            name: json.dumps(schema, indent=2) for name, schema in self.document["components"]["schemas"].items()
        }
        text = render_template("openapi.html", document=self.document, schemas=schemas, problems=PROBLEMS)
        return text_version(text, "text/html", DOCUMENT)


def make_document(app: Flask) -> Json:
    """Return the document of the views that declare their answers."""
    spec = _begin()
    for rule in app.url_map.iter_rules():
        view = app.view_functions[rule.endpoint]
        described = _HEALTH if rule.endpoint == "health.get_health" else getattr(view, "described", None)
        if described is None:
            continue
        path, tag = re.sub(r"<(\w+)>", r"{\1}", rule.rule), rule.endpoint.partition(".")[0]
        (method,) = (rule.methods or set()) - {"HEAD", "OPTIONS"}
        operation = _operation(view, described, method.lower(), path) | {"tags": [tag]}
        named = [
            {"name": name, "in": "path", "required": True, "schema": _ref(str(VALUES[_PATH_PARAMETERS[name]].name))}
            for name in re.findall(r"{(\w+)}", path)
        ]
        spec.path(path, operations={method.lower(): operation}, parameters=named)
    return spec.to_dict()


def _begin() -> APISpec:
    """Return a document with its introduction, the named values, the headers and the signature."""
    spec = APISpec(
        "Bounty Escrow Service",
        "1",
        "3.1.0",
        plugins=[_Plugin(schema_name_resolver=_name_of)],
        info={"description": _INTRODUCTION},
        jsonSchemaDialect="https://json-schema.org/draft/2020-12/schema",
        tags=[{"name": name, "description": text} for name, text in _TAGS.items()],
    )
    for name, schema in {form.name: form.schema for form in VALUES.values() if form.name}.items():
        spec.components.schema(name, dict(schema))
    for name, text in _HEADERS.items():
        kind = "integer" if name == "Retry-After" else "string"
        spec.components.header(name, {"description": text, "schema": {"type": kind}})
    spec.components.security_scheme(_SIGNATURE, _AUTHORIZATION)
    return spec


class _Converter(OpenAPIConverter):
    """What apispec does not know of our schemas."""

    def schema2jsonschema(self, schema: Any) -> Json:
        """Return an object with the text of its dataclass."""
        described: Json = super().schema2jsonschema(schema)  # type: ignore[no-untyped-call]
        return {**described, "description": schema.shape.__doc__}

    def field2property(self, field: fields.Field[Any]) -> Json:
        """Return a value with a form as the document defines it, by reference if the form has a name."""
        if not isinstance(field, FormField):
            return dict(super().field2property(field))
        schema = _ref(field.form.name) if field.form.name else dict(field.form.schema)
        return {"anyOf": [schema, {"type": "null"}]} if field.allow_none else schema


class _Plugin(MarshmallowPlugin):
    Converter = _Converter


def _name_of(schema: Any) -> str:
    return _NAMES.get(schema.shape, schema.shape.__name__)


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _operation(view: Callable[..., object], described: Described, method: str, path: str) -> Json:
    """Return a view's entry in the document."""
    access, body_type, counted = (getattr(view, name) for name in ("access", "body_type", "counted"))
    codes = dict.fromkeys(
        (
            *(("unauthorized",) if access == "signed" else ()),
            *(_OF_BODIES if body_type else ()),
            *described.errors,
            *EVERYWHERE,
            *(("route_not_found",) if "{" in path else ()),  # for what cannot be a part of any path
            *(("rate_limit_reached",) if counted else ()),
        )
    )
    summary, _, text = inspect.cleandoc(view.__doc__ or "").partition("\n\n")
    operation: Json = {
        "operationId": re.sub(r"\W+", "_", f"{method} {path}").strip("_"),
        "summary": summary,
        "security": [{_SIGNATURE: []}] if access == "signed" else [],
        "parameters": _parameters(described),
        "responses": _answers(described) | _error_answers(codes, described.refusals),
    }
    if text:
        operation["description"] = text
    if body_type:
        content = {body_type: _content(described.body, described.example)}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _parameters(described: Described) -> list[Json]:
    found: list[Json] = [{"in": "query", "schema": schema_of(described.query)}] if described.query else []
    if described.versioned:
        known = {"description": "The ETag of the answer that the client has.", "schema": {"type": "string"}}
        found.append({"name": "If-None-Match", "in": "header", "required": False, **known})
    return found


def _answers(described: Described) -> dict[str, Json]:
    _, *further = described.refusals
    shown = _content(described.answer, described.shown)
    first = described.answer if isinstance(described.answer, str) else "application/json"
    content = dict.fromkeys((first, *further), shown)
    of_index = ("X-Index-Block", "X-Index-Time") if described.indexed else ()
    headers = _headers(*(("ETag",) if described.versioned else ()), *of_index)
    answer = {"headers": headers, "content": content}
    if described.created:
        return {
            "200": {"description": "It was there already.", **answer},
            "201": {"description": "Stored for the first time.", **answer},
        }
    found = {"200": {"description": "Done.", **answer}}
    if described.versioned:
        found["304"] = {"description": "The version of If-None-Match is the newest.", "headers": headers}
    return found


def _content(shape: Any, example: object) -> Json:
    """Return the content of a body: of a shape, of a named value, or any text where there is neither."""
    if shape is None or isinstance(shape, str):
        schema: object = {"type": "string"}
    elif shape in VALUES:
        schema = _ref(str(VALUES[shape].name))
    else:
        schema = schema_of(shape)
    return {"schema": schema} if example is None else {"schema": schema, "example": example}


def _error_answers(codes: Mapping[str, None], refusals: Refusals) -> dict[str, Json]:
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(PROBLEMS[code].status, []).append(code)
    return {
        str(status): {
            "description": "\n".join(f"`{code}`: {PROBLEMS[code].next_action}" for code in named),
            "headers": _headers(
                *(("WWW-Authenticate",) if status == 401 else ()), *(("Retry-After",) if status in _RETRIED else ())
            ),
            "content": {
                media_type: {
                    "schema": schema_of(shape),
                    "examples": {
                        code: {"value": to_json(shape.of(ErrorBody(code, "...", (), PROBLEMS[code].next_action)))}
                        for code in named
                    },
                }
                for media_type, shape in refusals.items()
            },
        }
        for status, named in sorted(by_status.items())
    }


def _headers(*names: str) -> Json:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in (*_EVERY_HEADER, *names)}
