"""Webhooks of one account: each a signed request, and a secret that goes into a file and nowhere else."""

import json
import os
from pathlib import Path
from typing import Final

from service_common.shapes import to_json
from service_common.types import Address, BountyId
from service_common.wire.values import Finality, WebhookId
from service_common.wire.webhooks import RegisteredWebhook, RemovedWebhook, Webhook, WebhookList, WebhookRequest

from service_cli.api import Answer
from service_cli.chain.session import Session
from service_cli.chain.signer import LocalSigner, local_signer
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.shell.output import event, say

_ROUTE: Final = "/api/webhooks"
_SHOWN: Final = ("webhook_id", "url", "account_address", "bounty_id", "all_bounties", "finality", "state")


def add(
    settings: Settings,
    url: str,
    account: Address | None,
    bounty_id: BountyId | None,
    unsafe: bool,
    secret_file: Path | None,
) -> None:
    """The command ``webhook:add``."""
    if secret_file is not None:
        _require_new(secret_file)
    finality = Finality.UNSAFE if unsafe else Finality.FINALIZED
    wanted = WebhookRequest(url, account, bounty_id, account is None and bounty_id is None, finality)
    given = {name: value for name, value in to_json(wanted).items() if value is not None}
    made = _signed(settings, "POST", "", f"register a webhook for {url}", json.dumps(given).encode())
    registered = made.read(RegisteredWebhook)
    webhook = registered.webhook
    asked = (webhook.url, webhook.account_address, webhook.bounty_id, webhook.all_bounties, webhook.finality)
    if asked != (wanted.url, wanted.account_address, wanted.bounty_id, wanted.all_bounties, wanted.finality):
        raise made.peer.malformed(" registered another webhook than the one it was asked for.")
    written = None
    if registered.secret is not None:
        written = _keep(registered.secret, secret_file or Path(f"{webhook.webhook_id}.secret"), webhook.webhook_id)
    shown = to_json(webhook)
    event("webhook_add.registered", {**{name: shown[name] for name in _SHOWN}, "secret_file": written})


def show(settings: Settings) -> None:
    """The command ``webhook:list``."""
    webhooks = _signed(settings, "GET", "", "list your webhooks").read(WebhookList).items
    for webhook in webhooks:
        event("webhook_list.webhook", to_json(webhook))
    if not webhooks:
        say("this account has no webhooks; service-cli webhook:add registers one")


def request_test(settings: Settings, webhook_id: WebhookId) -> None:
    """The command ``webhook:test``."""
    webhook = _signed(settings, "POST", f"/{webhook_id}/test", f"test the webhook {webhook_id}").read(Webhook)
    event("webhook_test.requested", {"webhook_id": webhook_id, "state": webhook.state.value})


def rotate(settings: Settings, webhook_id: WebhookId, secret_file: Path) -> None:
    """The command ``webhook:rotate``."""
    _require_new(secret_file)
    answer = _signed(settings, "POST", f"/{webhook_id}/rotate", f"make another secret for the webhook {webhook_id}")
    secret = answer.read(RegisteredWebhook).secret
    if secret is None:
        raise answer.peer.malformed(" answered without the new secret.")
    event("webhook_rotate.rotated", {"webhook_id": webhook_id, "secret_file": _keep(secret, secret_file, webhook_id)})


def remove(settings: Settings, webhook_id: WebhookId) -> None:
    """The command ``webhook:remove``."""
    _signed(settings, "DELETE", f"/{webhook_id}", f"remove the webhook {webhook_id}").read(RemovedWebhook)
    event("webhook_remove.removed", {"webhook_id": webhook_id})


def _signed(settings: Settings, method: str, path: str, summary: str, body: bytes = b"") -> Answer:
    signer = local_signer(settings, "SERVICE_SUBSCRIBER_PRIVATE_KEY")
    session: Session[LocalSigner] = Session.open(settings, signer)
    media_type = "application/json" if body else None
    return session.api.signed(session.signer, method, _ROUTE + path, body=body, media_type=media_type, summary=summary)


def _require_new(file: Path) -> None:
    """Refuse a file that could not take a secret, before one is made."""
    if os.path.lexists(file) or not os.access(file.absolute().parent, os.W_OK | os.X_OK):
        message = f"The secret needs a new file; {file} exists, or cannot be made."
        raise CommandRefused("output_refused", message, next_action="Name another file with --save-to.")


def _keep(secret: str, file: Path, webhook_id: WebhookId) -> str:
    """Write the secret where nobody else can read it; where that fails another one can be made."""
    try:
        with open(file, "x", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as out:
            out.write(secret + "\n")
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        message = f"The secret could not be written to {file}: {error.strerror or 'it failed'}."
        next_action = f"Make another: service-cli webhook:rotate --save-to FILE {webhook_id}."
        raise CommandFailed("secret_not_written", message, next_action=next_action) from error
    return str(file)
