"""Routes that state what they take and answer, and the OpenAPI document that flask-smorest makes of them.

Beside a view are ``@routes.response`` with the shape of its answer, and ``@described`` with its error codes, its
query and its body; all else of the document follows: from the view's docstring, from how it is let in (``@public``,
``@signed``) and from the one table of errors. Nothing here parses a request: a signed view loads its body itself, once
the signature is proven and in the order that the interface states.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

from apispec.ext.marshmallow import MarshmallowPlugin
from apispec.ext.marshmallow.openapi import OpenAPIConverter
from bounty_protocol.auth.header import SCHEME
from bounty_protocol.errors import PROBLEMS
from bounty_protocol.shapes import to_json
from bounty_protocol.types import Address, BountyId, Bytes32
from bounty_protocol.wire.errors import Error, ErrorBody
from bounty_protocol.wire.values import VALUES
from flask_smorest import Api, Blueprint
from marshmallow import Schema, fields

from service_common.web.problems import PLAIN, Refusals
from service_common.web.schemas import ShapeSchema, ValueField, name_of, schema_of

V = TypeVar("V", bound=Callable[..., object])
Json = dict[str, Any]

EVERYWHERE: Final = ("invalid_request", "internal_error", "service_overloaded")
"""Error codes that every operation can answer."""
_OF_BODIES: Final = ("length_required", "payload_too_large", "unsupported_media_type", "unsupported_transfer_encoding")
_SIGNATURE: Final = "ServiceApproval"
_PATH_PARAMETERS: Final = {
    "account_address": Address,
    "bounty_id": BountyId,
    "solver_address": Address,
    "submission_commitment": Bytes32,
    "report_commitment": Bytes32,
}
_EVERY_HEADER: Final = ("X-Correlation-Id", "X-Hub", "Cache-Control")
_INDEX_HEADERS: Final = ("X-Index-Block", "X-Index-Time")
_HEADERS: Final[Mapping[str, str]] = {
    "X-Correlation-Id": "Names this request in the operator's log; the request's own value if it sent one.",
    "X-Hub": "The Hub of this deployment as a CAIP-10 account, such as eip155:8453:0x…; bounty numbers are per Hub.",
    "ETag": "The version of the answer; If-None-Match with it gets 304 while the answer is unchanged.",
    "Cache-Control": "Who may keep the answer, and for how long.",
    "X-Index-Block": "The newest block of the index from which the answer was read. Successive answers may come from "
    "databases of which one is slightly behind.",
    "X-Index-Time": "The time of that block, in Unix seconds.",
    "Retry-After": "Seconds after which the same request may be answered.",
    "WWW-Authenticate": f"The scheme that this route accepts: {SCHEME}.",
}
_RETRIED: Final = {429, 502, 503}


@dataclass(frozen=True, slots=True)
class Description:
    """A view's declarations beside its answers."""

    errors: tuple[str, ...] = ()
    query: type | None = None
    body: type | None = None
    example: object = None
    refusals: Refusals = field(default_factory=lambda: PLAIN)


def described(
    *errors: str,
    query: type | None = None,
    body: type | None = None,
    example: object = None,
    refusals: Refusals = PLAIN,
) -> Callable[[V], V]:
    """Describe a view: the error codes that it can answer, its query, and its body with an example.

    Codes that follow from the view's access rule are not named again. ``refusals`` are the shapes of its errors by
    media type; its answers then also have these media types.
    """

    def decorate(view: V) -> V:
        view.description = Description(errors, query, body, example, refusals)  # type: ignore[attr-defined]
        view.refusals = refusals  # type: ignore[attr-defined]
        return view

    return decorate


class Routes(Blueprint):  # type: ignore[misc]  # flask-smorest has no types
    """A blueprint whose views describe themselves."""

    def response(
        self, status_code: int, shape: Any = None, *, versioned: bool = False, indexed: bool = False, **more: Any
    ) -> Callable[[V], V]:
        """Describe the answer for a status: a shape, or the ``content_type`` of one that is not JSON. The view makes it
        itself.

        ``versioned``: a conditional request gets 304 if nothing has changed. ``indexed``: it states the position of the
        index that it shows.
        """
        note = super().response(status_code, _schema(shape), **more)

        def decorate(view: V) -> V:
            vars(view)["shown"] = shape
            vars(view)["answered"] = (*getattr(view, "answered", ()), (status_code, versioned, indexed))
            return _noted(view, note(view))

        return decorate

    def add_url_rule(
        self, rule: str, endpoint: str | None = None, view_func: Any = None, *args: Any, **options: Any
    ) -> None:
        """Register a view of one method, with its description."""
        (method,) = options["methods"]
        path = re.sub(r"<(\w+)>", r"{\1}", f"{self.url_prefix or ''}{rule}")
        options["parameters"] = [
            {"name": name, "in": "path", "schema": _ref(VALUES[_PATH_PARAMETERS[name]].name)}
            for name in re.findall(r"{(\w+)}", path)
        ]
        note = self.doc(**_operation(view_func, method, path))
        super().add_url_rule(rule, endpoint or view_func.__name__, _noted(view_func, note(view_func)), *args, **options)


class DocumentedApi(Api):  # type: ignore[misc]
    """The registry of an app's routes, which makes its document."""

    DEFAULT_ERROR_RESPONSE_NAME = None
    ERROR_SCHEMA = schema_of(Error)

    def _register_error_handlers(self) -> None:
        """Register no handlers: ``service_common.web.problems`` answers errors."""

    def __init__(self, app: Any, **options: Any) -> None:
        plugin = MarshmallowPlugin(schema_name_resolver=_component)  # type: ignore[arg-type]  # None: none
        plugin.Converter = _Converter
        super().__init__(app, spec_kwargs={"marshmallow_plugin": plugin, **options})
        for form in {form.name: form for form in VALUES.values() if form.name}.values():
            self.spec.components.schema(form.name, dict(form.schema))
        for name, text in _HEADERS.items():
            kind = "integer" if name == "Retry-After" else "string"
            self.spec.components.header(name, {"description": text, "schema": {"type": kind}})


def _noted(view: V, wrapper: Callable[..., object]) -> V:
    """Return the view with flask-smorest's notes on it, without the wrapper, which would only return its answer."""
    vars(view)["_apidoc"] = vars(wrapper)["_apidoc"]
    return view


def operation_id(method: str, path: str) -> str:
    """Return an operation's id, such as ``get_api_bounties_bounty_id``."""
    return re.sub(r"\W+", "_", f"{method.lower()} {path}").strip("_")


def _operation(view: Callable[..., object], method: str, path: str) -> Json:
    """Return a view's entry in the document beside the shapes of its answers."""
    access, body_type = getattr(view, "access", None), getattr(view, "body_type", None)
    counted, description = getattr(view, "counted", False), getattr(view, "description", Description())
    codes = dict.fromkeys(
        (
            *(("unauthorized",) if access == "signed" else ()),
            *(_OF_BODIES if body_type else ()),
            *description.errors,
            *EVERYWHERE,
            *(("route_not_found",) if "{" in path else ()),  # for what cannot be a part of any path
            *(("rate_limit_reached",) if counted else ()),
        )
    )
    operation: Json = {
        "operationId": operation_id(method, path),
        "security": [{_SIGNATURE: []}] if access == "signed" else [],
        "responses": _answers(view, description.refusals) | _error_answers(codes, description.refusals),
        "parameters": _parameters(view, description),
    }
    if body_type:
        example = {} if description.example is None else {"example": description.example}
        operation["requestBody"] = {
            "required": True,
            "content": {body_type: {"schema": _schema(description.body), **example}},
        }
    return operation


def _parameters(view: Callable[..., object], description: Description) -> list[Json]:
    found: list[Json] = [{"in": "query", "schema": schema_of(description.query)}] if description.query else []
    if any(versioned for _, versioned, _ in getattr(view, "answered", ())):
        known = {"description": "The ETag of the answer that the client has.", "schema": {"type": "string"}}
        found.append({"name": "If-None-Match", "in": "header", "required": False, **known})
    return found


def _answers(view: Callable[..., object], refusals: Refusals) -> dict[int, Json]:
    answers: dict[int, Json] = {}
    _, *further = refusals
    answered: tuple[tuple[int, bool, bool], ...] = getattr(view, "answered", ())
    created = any(status == 201 for status, *_ in answered)
    for status, versioned, indexed in answered:
        of_index = _INDEX_HEADERS if indexed else ()
        names = (*(("ETag",) if versioned else ()), *of_index)
        text = "Stored for the first time." if status == 201 else "It was stored before." if created else "Done."
        answers[status] = {"description": text, "headers": _headers(*names)}
        if further:
            answers[status]["content"] = {each: {"schema": _ref(name_of(vars(view)["shown"]))} for each in further}
        if versioned:
            answers[304] = {"description": "The version in If-None-Match is the newest.", "headers": _headers(*names)}
    return answers


def _error_answers(codes: Mapping[str, None], refusals: Refusals) -> dict[int, Json]:
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(PROBLEMS[code].status, []).append(code)
    return {status: _error_answer(named, refusals) for status, named in sorted(by_status.items())}


def _error_answer(codes: list[str], refusals: Refusals) -> Json:
    status = PROBLEMS[codes[0]].status
    names = (
        *(("WWW-Authenticate",) if status == 401 else ()),
        *(("Retry-After",) if status in _RETRIED else ()),
    )
    return {
        "description": "\n".join(f"`{code}`: {PROBLEMS[code].next_action}" for code in codes),
        "headers": _headers(*names),
        "content": {
            media_type: {
                "schema": schema_of(shape),
                "examples": {code: {"value": to_json(shape.of(_example(code)))} for code in codes},
            }
            for media_type, shape in refusals.items()
        },
    }


def _example(code: str) -> ErrorBody:
    return ErrorBody(code, "...", (), PROBLEMS[code].next_action)


def _headers(*names: str) -> Json:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in (*_EVERY_HEADER, *names)}


def _ref(name: str | None) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _schema(shape: Any) -> Any:
    """Return a shape in the document: its schema, a reference to a value that has a name, or text."""
    if shape is None:
        return {"type": "string"}
    return _ref(VALUES[shape].name) if shape in VALUES else schema_of(shape)


def _shape(schema: Schema | type[Schema]) -> type | None:
    """Return the shape behind a schema; None for flask-smorest's own."""
    found = schema if isinstance(schema, type) else type(schema)
    return found.shape if issubclass(found, ShapeSchema) else None


def _component(schema: Schema | type[Schema]) -> str | None:
    shape = _shape(schema)
    return None if shape is None else name_of(shape)


class _Converter(OpenAPIConverter):
    """Schemas as JSON Schema: a value that has a name is a reference, an object has its docstring and no other keys."""

    def field2property(self, field: fields.Field[Any]) -> Json:
        if not isinstance(field, ValueField):
            return cast("Json", super().field2property(field))
        shown = _ref(field.form.name) if field.form.name else dict(field.form.schema)
        return {"oneOf": [shown, {"type": "null"}]} if field.allow_none else shown

    def schema2jsonschema(self, schema: Schema) -> Json:
        made = cast("Json", super().schema2jsonschema(schema))  # type: ignore[no-untyped-call]
        shape = _shape(schema)
        return made if shape is None else {"description": shape.__doc__, **made}
