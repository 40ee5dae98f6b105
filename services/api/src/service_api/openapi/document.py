"""The OpenAPI 3.1 document, assembled once per process from ``operations`` and ``schemas``."""

import re
from functools import cache

from service_common.errors import PROBLEMS

from service_api.openapi.examples import EXAMPLES
from service_api.openapi.operations import OPERATIONS, PATH_PARAMETERS, Operation
from service_api.openapi.schemas import COMPONENTS, ref

_INTRODUCTION = (
    "Bounties on a blockchain: the API stores bytes, validates shapes and gates reads against indexed contract state. "
    "It never authorizes money movement and never decides an outcome. Signed operations take one EIP-712 signature "
    "over the exact request, in the header `Authorization: Service-Approval "
    "<base64(address~signature~blockNumber~blockHash)>`; docs/authentication.md describes it with test vectors."
)
_AUTHORIZATION = {
    "type": "apiKey",
    "in": "header",
    "name": "Authorization",
    "description": "`Service-Approval <base64(address~signature~blockNumber~blockHash)>`: an EIP-712 signature of "
    "struct ApiRequestApproval(endpointId, audience, bodyHash, query, blockNumber, blockHash) in the domain (Service, "
    "1, chain id, Hub), over this exact request and a block of the last five minutes. One signature, one request.",
}


@cache
def openapi_document() -> dict[str, object]:
    """The whole document."""
    paths: dict[str, dict[str, object]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Bounty Escrow Service", "version": "1", "description": _INTRODUCTION},
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "paths": paths,
        "components": {"schemas": dict(COMPONENTS), "securitySchemes": {"ServiceApproval": _AUTHORIZATION}},
    }


def _operation(operation: Operation) -> dict[str, object]:
    described: dict[str, object] = {
        "operationId": re.sub(r"\W+", "_", f"{operation.method.lower()} {operation.path}").strip("_"),
        "summary": operation.summary,
        "parameters": _parameters(operation),
        "responses": _answers(operation),
        "security": [{"ServiceApproval": []}] if operation.signer else [],
    }
    if operation.signer:
        described["description"] = f"Signed by {operation.signer}."
    if operation.body is not None:
        content = {"schema": _schema(operation.body), **_example(operation, "request")}
        described["requestBody"] = {"required": True, "content": {operation.body_type: content}}
    return described


def _parameters(operation: Operation) -> list[object]:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": PATH_PARAMETERS[name]}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]
    in_query = [
        {"name": name, "in": "query", "required": name in operation.required_query, "schema": schema}
        for name, schema in (operation.query or {}).items()
    ]
    return [*in_path, *in_query]


def _answers(operation: Operation) -> dict[str, object]:
    content = {operation.media_type: {"schema": _schema(operation.answer), **_example(operation, "answer")}}
    answers: dict[str, object] = {"200": {"description": "Done.", "content": content}}
    if operation.created:
        answers["200"] = {"description": "It was there already.", "content": content}
        answers["201"] = {"description": "Stored for the first time.", "content": content}
    by_status: dict[int, list[str]] = {}
    for code in operation.codes:
        by_status.setdefault(PROBLEMS[code].status, []).append(code)
    for status, codes in sorted(by_status.items()):
        lines = [f"`{code}`: {PROBLEMS[code].next_action}" for code in codes]
        error = {"schema": ref("Error"), "examples": {code: {"value": _error(code)} for code in codes}}
        answers[str(status)] = {"description": "\n".join(lines), "content": {"application/json": error}}
    return answers


def _error(code: str) -> dict[str, object]:
    problem = PROBLEMS[code]
    return {"error": {"code": code, "message": "...", "issues": [], "next_action": problem.next_action}}


def _schema(name: str) -> object:
    return {"type": "string"} if "/" in name else ref(name)


def _example(operation: Operation, part: str) -> dict[str, object]:
    found = EXAMPLES.get(f"{operation.method} {operation.path} {part}")
    return {} if found is None else {"example": found}
