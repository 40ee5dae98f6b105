"""``/api/webhooks``: an account's webhooks, each route signed by that account."""

from typing import Final

from bounty_protocol.auth.verify import VerifiedRequest
from bounty_protocol.shapes import to_json
from bounty_protocol.wire.values import WebhookId, parse_webhook_id
from bounty_protocol.wire.webhooks import RegisteredWebhook, RemovedWebhook, Webhook, WebhookList, WebhookRequest
from flask import Response, jsonify
from service_common.web.authentication import read_query, signed
from service_common.web.operations import Routes, described
from service_common.web.parsing import load_json, parse

from service_api.dependencies import Dependencies, dependencies
from service_api.usecases.webhooks import (
    CODE,
    list_webhooks,
    register_webhook,
    remove_webhook,
    request_test,
    rotate_secret,
)

routes = Routes("webhooks", __name__, url_prefix="/api/webhooks", description="Webhooks")

MAX_BODY_BYTES: Final = 4_096
_AWAY: Final = ("bounty_projection_unavailable", "bounty_chain_state_unavailable")
"""The codes of every route here while the database or the chain does not answer."""
_EXAMPLE: Final = {"url": "https://receiver.example/bounties", "bounty_id": "7"}


@routes.route("", methods=["POST"])
@routes.response(200, RegisteredWebhook)
@routes.response(201, RegisteredWebhook)
@described(
    CODE, "webhook_limit_reached", "webhook_already_registered", *_AWAY, "webhooks_unconfigured",
    body=WebhookRequest, example=_EXAMPLE,
)  # fmt: skip
@signed("application/json", MAX_BODY_BYTES)
def post_webhook(request: VerifiedRequest) -> Response:
    """Register an address that gets facts as they happen.

    Signed by the account that the webhook is to belong to. The answer has its secret, which is not shown again: 200
    without it where the webhook is there already. The same request after its removal is 409
    `webhook_already_registered`.
    """
    deps = _charged(request)
    read_query(allowed=frozenset(), code=CODE)
    wanted = load_json(request.body, WebhookRequest, code=CODE)
    registered, created = register_webhook(deps, request, wanted)
    response = _private(jsonify(to_json(registered)))
    response.status_code = 201 if created else 200
    return response


@routes.route("", methods=["GET"])
@routes.response(200, WebhookList)
@described(*_AWAY)
@signed(None)
def get_webhooks(request: VerifiedRequest) -> Response:
    """List the webhooks of an account, and how their receivers do.

    Signed by that account.
    """
    read_query(allowed=frozenset())
    return _private(jsonify(to_json(WebhookList(list_webhooks(dependencies(), request.signer)))))


@routes.route("/<webhook_id>", methods=["DELETE"])
@routes.response(200, RemovedWebhook)
@described(CODE, "webhook_not_found", *_AWAY)
@signed(None)
def delete_webhook(request: VerifiedRequest, webhook_id: str) -> Response:
    """Remove a webhook.

    Signed by the account that it belongs to.
    """
    named = _named(webhook_id)
    remove_webhook(dependencies(), request.signer, named)
    return jsonify(to_json(RemovedWebhook(named, removed=True)))


@routes.route("/<webhook_id>/test", methods=["POST"])
@routes.response(200, Webhook)
@described(CODE, "webhook_not_found", *_AWAY)
@signed(None)
def post_webhook_test(request: VerifiedRequest, webhook_id: str) -> Response:
    """Have a test message sent; one that is not active gets the challenge again, and is active once it is answered.

    Signed by the account that it belongs to.
    """
    deps = _charged(request)
    return _private(jsonify(to_json(request_test(deps, request.signer, _named(webhook_id)))))


@routes.route("/<webhook_id>/rotate", methods=["POST"])
@routes.response(200, RegisteredWebhook)
@described(
    CODE, "webhook_not_found", "webhook_already_rotated", "webhook_secrets_limit_reached", *_AWAY,
    "webhooks_unconfigured",
)  # fmt: skip
@signed(None)
def post_webhook_rotate(request: VerifiedRequest, webhook_id: str) -> Response:
    """Get another secret; for a day, messages are signed with the one that it replaces, too.

    Signed by the account that it belongs to. The same request again is 409 `webhook_already_rotated`; too many in a
    day are 409 `webhook_secrets_limit_reached`.
    """
    deps = _charged(request)
    return _private(jsonify(to_json(rotate_secret(deps, request, _named(webhook_id)))))


def _charged(request: VerifiedRequest) -> Dependencies:
    deps = dependencies()
    budgets = deps.config.budgets
    deps.callers.charge_account(budgets.webhooks, budgets.webhooks_of_address, request.signer)
    return deps


def _named(webhook_id: str) -> WebhookId:
    read_query(allowed=frozenset(), code=CODE)
    return parse(webhook_id, parse_webhook_id, path="webhook_id", code=CODE)


def _private(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    return response
