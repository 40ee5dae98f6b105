"""The commands of webhooks: each a signed request, and a secret that goes into a file and nowhere else.

What a command does is imported when it runs.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from bounty_protocol.types import Address, BountyId

from service_cli.errors import CommandFailed, CommandRefused
from service_cli.shell.arguments import ADDRESS, BOUNTY_ID, Value
from service_cli.shell.command import argument_error, command, read_option
from service_cli.shell.output import emit, say

if TYPE_CHECKING:
    from bounty_protocol.wire.values import Finality, WebhookId
    from bounty_protocol.wire.webhooks import WebhookRequest

    from service_cli.api import Answer
    from service_cli.chain.signer import LocalSigner
    from service_cli.config.settings import Settings


def _webhook_id(text: str) -> "WebhookId":
    from bounty_protocol.wire.values import parse_webhook_id

    return parse_webhook_id(text)


WEBHOOK_ID: Final = Value("a webhook's id", _webhook_id)
_ROUTE: Final = "/api/webhooks"


@command("webhook:add", "webhook_add", api=True)
@click.option("--url", metavar="URL", required=True, help="The https address of the receiver.")
@click.option("--account", type=ADDRESS, help="Facts that name this account, or of bounties it takes part in.")
@click.option("--bounty", type=BOUNTY_ID, metavar="BOUNTY_ID", help="Facts of this bounty.")
@click.option("--all", "everything", is_flag=True, help="All facts of the deployment.")
@click.option("--search", metavar="WORDS", help="Facts of bounties whose title or summary has these words.")
@click.option("--tag", metavar="TAG", help="Facts of bounties whose page has this tag.")
@click.option("--min-award", metavar="AMOUNT", help='Facts of bounties with an award from this on, such as "25 USDC".')
@click.option("--poster-address", type=ADDRESS, help="Facts of this Poster's bounties; these four narrow each other.")
@click.option("--unsafe", is_flag=True, help="Facts at once, with what reorgs take back; else when they are final.")
@click.option(
    "--save-to", "secret_file", type=click.Path(path_type=Path), metavar="FILE",
    help="Where the secret is written (new); else WEBHOOK_ID.secret.",
)  # fmt: skip
def webhook_add(
    url: str,
    account: Address | None,
    bounty: BountyId | None,
    everything: bool,
    search: str | None,
    tag: str | None,
    min_award: str | None,
    poster_address: Address | None,
    unsafe: bool,
    secret_file: Path | None,
    network: str | None,
    api_base_url: str | None,
) -> None:
    """Register an https address that gets facts as they happen, for the account of your key.

    The receiver has to answer a challenge before it gets anything: a POST of JSON whose data.challenge it returns with
    status 200 as {"challenge": the same value}. What it gets is signed as Standard Webhooks is. The secret is written
    to a file that only you can read, and shown nowhere. The same address with the same
    choice is registered once: run again, no secret is made.

    \b
    Reads:    SERVICE_SUBSCRIBER_PRIVATE_KEY (or _FILE, _COMMAND, a keystore)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL
    Refuses:  other than one of --account, --bounty, --all and a search; an address that is not https with a public
              name; more webhooks than an account may have; a file for the secret that exists
    Examples: service-cli webhook:add --url https://receiver.example --bounty 7
              service-cli webhook:add --url https://receiver.example/csv --tag csv
    """
    from bounty_protocol.domain.shorthand import read_amount
    from bounty_protocol.types import TokenAmount
    from bounty_protocol.wire.bounties import BountyFilter
    from bounty_protocol.wire.values import SearchText, Tag
    from bounty_protocol.wire.webhooks import WebhookRequest

    from service_cli.config.settings import CHAIN_AND_API, load_settings

    least = read_option("--min-award", read_amount, min_award)
    searched = BountyFilter(
        poster_address=poster_address,
        search=None if search is None else SearchText(search),
        tag=None if tag is None else Tag(tag),
        min_award=None if least is None else TokenAmount(least),
    )
    matching = None if searched == BountyFilter() else searched
    if (account is not None) + (bounty is not None) + everything + (matching is not None) != 1:
        names = "--account, --bounty, --all, or a search by --search, --tag, --min-award, --poster-address"
        raise argument_error(names, "give exactly one of them")
    wanted = WebhookRequest(url, account, bounty, everything, _finality(unsafe), matching)
    add(load_settings(network, api_base_url, CHAIN_AND_API), wanted, secret_file)


@command("webhook:list", "webhook_list", api=True)
def webhook_list(network: str | None, api_base_url: str | None) -> None:
    """List the webhooks of the account of your key, and how their receivers do.

    \b
    Reads:    SERVICE_SUBSCRIBER_PRIVATE_KEY (or _FILE, _COMMAND, a keystore)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL
    Refuses:  an API that does not answer in shape
    Examples: service-cli webhook:list
    """
    from service_cli.config.settings import CHAIN_AND_API, load_settings

    show(load_settings(network, api_base_url, CHAIN_AND_API))


@command("webhook:test", "webhook_test", api=True)
@click.argument("webhook_id", type=WEBHOOK_ID)
def webhook_test(webhook_id: "WebhookId", network: str | None, api_base_url: str | None) -> None:
    """Have a test message sent to a webhook of yours; webhook:list shows how it ended.

    One that is not active gets the challenge again, and is active once its receiver answers it.

    \b
    Reads:    SERVICE_SUBSCRIBER_PRIVATE_KEY (or _FILE, _COMMAND, a keystore)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL
    Refuses:  a webhook of another account, or none
    Examples: service-cli webhook:test $WEBHOOK
    """
    from service_cli.config.settings import CHAIN_AND_API, load_settings

    request_test(load_settings(network, api_base_url, CHAIN_AND_API), webhook_id)


@command("webhook:rotate", "webhook_rotate", api=True)
@click.option(
    "--save-to", "secret_file", type=click.Path(path_type=Path), metavar="FILE", required=True,
    help="Where the new secret is written (new).",
)  # fmt: skip
@click.argument("webhook_id", type=WEBHOOK_ID)
def webhook_rotate(webhook_id: "WebhookId", secret_file: Path, network: str | None, api_base_url: str | None) -> None:
    """Get another secret for a webhook of yours. For a day, messages carry the former one's signature, too.

    \b
    Reads:    SERVICE_SUBSCRIBER_PRIVATE_KEY (or _FILE, _COMMAND, a keystore)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL
    Refuses:  a webhook of another account, or none; a file for the secret that exists
    Examples: service-cli webhook:rotate --save-to new.secret $WEBHOOK
    """
    from service_cli.config.settings import CHAIN_AND_API, load_settings

    rotate(load_settings(network, api_base_url, CHAIN_AND_API), webhook_id, secret_file)


@command("webhook:remove", "webhook_remove", api=True)
@click.argument("webhook_id", type=WEBHOOK_ID)
def webhook_remove(webhook_id: "WebhookId", network: str | None, api_base_url: str | None) -> None:
    """Remove a webhook of yours; its receiver gets nothing more.

    \b
    Reads:    SERVICE_SUBSCRIBER_PRIVATE_KEY (or _FILE, _COMMAND, a keystore)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL
    Refuses:  a webhook of another account, or none
    Examples: service-cli webhook:remove $WEBHOOK
    """
    from service_cli.config.settings import CHAIN_AND_API, load_settings

    remove(load_settings(network, api_base_url, CHAIN_AND_API), webhook_id)


def _finality(unsafe: bool) -> "Finality":
    from bounty_protocol.wire.values import Finality

    return Finality.UNSAFE if unsafe else Finality.FINALIZED


def add(settings: "Settings", wanted: "WebhookRequest", secret_file: Path | None) -> None:
    """The command ``webhook:add``."""
    import json

    from bounty_protocol.shapes import parts, to_json
    from bounty_protocol.wire.webhooks import RegisteredWebhook, WebhookRequest

    from service_cli.webhook.events import AddedWebhook

    if secret_file is not None:
        _require_new(secret_file)
    given = {name: value for name, value in to_json(wanted).items() if value is not None}
    made = _signed(settings, "POST", "", f"register a webhook for {wanted.url}", json.dumps(given).encode())
    registered = made.read(RegisteredWebhook)
    webhook = registered.webhook
    if any(getattr(webhook, part.name) != getattr(wanted, part.name) for part in parts(WebhookRequest)):
        raise made.peer.malformed(" registered another webhook than the one it was asked for.")
    written = None
    if registered.secret is not None:
        written = _keep(registered.secret, secret_file or Path(f"{webhook.webhook_id}.secret"), webhook.webhook_id)
    asked = (webhook.url, webhook.account_address, webhook.bounty_id, webhook.all_bounties, webhook.finality)
    emit(AddedWebhook(webhook.webhook_id, *asked, webhook.state, written, webhook.bounties_matching))


def show(settings: "Settings") -> None:
    """The command ``webhook:list``."""
    from bounty_protocol.wire.webhooks import WebhookList

    from service_cli.webhook.events import ListedWebhook

    webhooks = _signed(settings, "GET", "", "list your webhooks").read(WebhookList).items
    for webhook in webhooks:
        emit(ListedWebhook.of(webhook))
    if not webhooks:
        say("this account has no webhooks; service-cli webhook:add registers one")


def request_test(settings: "Settings", webhook_id: "WebhookId") -> None:
    """The command ``webhook:test``."""
    from bounty_protocol.wire.webhooks import Webhook

    from service_cli.webhook.events import TestedWebhook

    webhook = _signed(settings, "POST", f"/{webhook_id}/test", f"test the webhook {webhook_id}").read(Webhook)
    emit(TestedWebhook(webhook_id, webhook.state))


def rotate(settings: "Settings", webhook_id: "WebhookId", secret_file: Path) -> None:
    """The command ``webhook:rotate``."""
    from bounty_protocol.wire.webhooks import RegisteredWebhook

    from service_cli.webhook.events import RotatedSecret

    _require_new(secret_file)
    answer = _signed(settings, "POST", f"/{webhook_id}/rotate", f"make another secret for the webhook {webhook_id}")
    secret = answer.read(RegisteredWebhook).secret
    if secret is None:
        raise answer.peer.malformed(" answered without the new secret.")
    emit(RotatedSecret(webhook_id, _keep(secret, secret_file, webhook_id)))


def remove(settings: "Settings", webhook_id: "WebhookId") -> None:
    """The command ``webhook:remove``."""
    from bounty_protocol.wire.webhooks import RemovedWebhook

    from service_cli.webhook.events import DroppedWebhook

    _signed(settings, "DELETE", f"/{webhook_id}", f"remove the webhook {webhook_id}").read(RemovedWebhook)
    emit(DroppedWebhook(webhook_id))


def _signed(settings: "Settings", method: str, path: str, summary: str, body: bytes = b"") -> "Answer":
    from service_cli.api_session import ApiSession
    from service_cli.chain.signer import local_signer

    signer = local_signer(settings, "SERVICE_SUBSCRIBER_PRIVATE_KEY")
    session: ApiSession[LocalSigner] = ApiSession.open(settings, signer)
    media_type = "application/json" if body else None
    makes_new = method == "POST"  # another registration, secret or delivery each time
    return session.api.signed(
        session.signer, method, _ROUTE + path, body=body, media_type=media_type, summary=summary, once=makes_new
    )


def _require_new(file: Path) -> None:
    """Refuse a file that could not take a secret, before one is made."""
    if os.path.lexists(file) or not os.access(file.absolute().parent, os.W_OK | os.X_OK):
        message = f"The secret needs a new file; {file} exists, or cannot be made."
        raise CommandRefused("output_refused", message, next_action="Name another file with --save-to.")


def _keep(secret: str, file: Path, webhook_id: "WebhookId") -> str:
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
