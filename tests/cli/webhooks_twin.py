"""The routes of webhooks as a twin that keeps what it is sent, for any signer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.cli.servers import Reply, Request, as_json

SECRET = "whsec_" + "QUFB" * 10 + "QUE="
NOT_FOUND = {
    "error": {"code": "webhook_not_found", "message": "There is no such webhook.", "issues": [], "next_action": "List."}
}


@dataclass
class WebhooksTwin:
    """The webhooks that a twin of the API was asked for."""

    webhooks: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    altered: dict[str, object] = field(default_factory=dict)

    def keep(self, webhook_id: str) -> None:
        """One that is there."""
        wanted = {"url": "https://receiver.example/", "all_bounties": True, "finality": "finalized"}
        self.webhooks[webhook_id] = shown(webhook_id, wanted)

    def add(self, request: Request) -> Reply:
        self.requests.append((request.method, request.path))
        sent = request.json()
        same = [each for each in self.webhooks.values() if each["url"] == sent["url"]]
        if same:
            return as_json({"webhook": same[0], "secret": None})
        webhook = shown(f"wh_{len(self.webhooks):032x}", sent) | self.altered
        self.webhooks[webhook["webhook_id"]] = webhook
        return as_json({"webhook": webhook, "secret": SECRET}, 201)

    def list(self, request: Request) -> Reply:
        self.requests.append((request.method, request.path))
        return as_json({"items": list(self.webhooks.values())})

    def change(self, request: Request) -> Reply:
        self.requests.append((request.method, request.path))
        _, _, _, named, *rest = request.path.split("/")
        if named not in self.webhooks:
            return as_json(NOT_FOUND, 404)
        if request.method == "DELETE":
            del self.webhooks[named]
            return as_json({"webhook_id": named, "removed": True})
        webhook = self.webhooks[named]
        return as_json(webhook if rest == ["test"] else {"webhook": webhook, "secret": SECRET})


def shown(webhook_id: str, sent: Mapping[str, Any]) -> dict[str, Any]:
    moments = ("last_attempt_at", "last_success_at", "last_result", "last_status", "failing_since", "next_attempt_at")
    return {
        "webhook_id": webhook_id,
        "url": sent["url"],
        "account_address": sent.get("account_address"),
        "bounty_id": sent.get("bounty_id"),
        "all_bounties": sent.get("all_bounties", False),
        "finality": sent["finality"],
        "state": "pending",
        "created_at": "2026-01-01T00:00:00Z",
        "failure_count": 0,
        **dict.fromkeys(moments),
        **{name: sent[name] for name in ("bounties_matching",) if name in sent},
    }
