"""The webhooks of the document: each message that a receiver is sent, of the shapes that the worker makes."""

from typing import Any, Final, get_args

from bounty_protocol.shapes import OneOf, parts
from bounty_protocol.wire.webhooks import FIELDS, ChallengeAnswer, ChallengeMessage, WebhookMessage
from service_common.web.operations import DocumentedApi
from service_common.web.schemas import name_of, schema_of

Json = dict[str, Any]
_RESPONSES: Final = {
    "2XX": {"description": "Taken. The body is not read."},
    "410": {"description": "The webhook is switched off."},
    "default": {"description": "Not taken: the message comes again, with the same webhook-id."},
}


def type_of(message: type) -> str:
    """The ``type`` of a message."""
    (name,) = next(part.kind.of for part in parts(message) if isinstance(part.kind, OneOf) and part.name == "type")
    return name


def describe_webhooks(api: DocumentedApi) -> Json:
    """Each message by its type; its shapes become components of the document."""
    return {type_of(message): {"post": _operation(api, message)} for message in get_args(WebhookMessage)}


def _operation(api: DocumentedApi, message: type) -> Json:
    return {
        "operationId": f"receive_{type_of(message).replace('.', '_')}",
        "summary": message.__doc__,
        "security": [],
        "parameters": [
            {"name": name, "in": "header", "required": True, "description": text, "schema": {"type": "string"}}
            for name, text in FIELDS.items()
        ],
        "requestBody": {"required": True, "content": _content(api, message)},
        "responses": _RESPONSES | (_challenge_answer(api) if message is ChallengeMessage else {}),
    }


def _challenge_answer(api: DocumentedApi) -> Json:
    return {"2XX": {"description": "The receiver wants the webhook.", "content": _content(api, ChallengeAnswer)}}


def _content(api: DocumentedApi, shape: type) -> Json:
    name = name_of(shape)
    if name not in api.spec.components.schemas:
        api.spec.components.schema(name, schema=schema_of(shape))
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}
