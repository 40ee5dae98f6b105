"""The commands of webhooks. What a command does is imported when it runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from service_common.types import Address, BountyId

from service_cli.shell.arguments import ADDRESS, BOUNTY_ID, Value
from service_cli.shell.command import argument_error, command

if TYPE_CHECKING:
    from service_common.wire.values import WebhookId


def _webhook_id(text: str) -> "WebhookId":
    from service_common.wire.values import parse_webhook_id

    return parse_webhook_id(text)


WEBHOOK_ID: Final = Value("a webhook's id", _webhook_id)


@command("webhook:add", "webhook_add", api=True)
@click.option("--url", metavar="URL", required=True, help="The https address of the receiver.")
@click.option("--account", type=ADDRESS, help="Facts that name this account, or of bounties it takes part in.")
@click.option("--bounty", type=BOUNTY_ID, metavar="BOUNTY_ID", help="Facts of this bounty.")
@click.option("--all", "everything", is_flag=True, help="All facts of the deployment.")
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
    unsafe: bool,
    secret_file: Path | None,
    network: str | None,
    api_base_url: str | None,
) -> None:
    """Register an https address that gets facts as they happen, for the account of your key.

    The receiver has to answer a challenge before it gets anything: docs/webhooks.md shows how, and how it verifies what
    it gets. Its secret is written to a file that only you can read, and shown nowhere. The same address with the same
    choice is registered once: run again, no secret is made.

    \b
    Reads:    SERVICE_SUBSCRIBER_PRIVATE_KEY (or _FILE, _COMMAND, a keystore)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL
    Prints:   webhook_add.registered (webhook_id, url, account_address, bounty_id, all_bounties, finality, state,
              secret_file)
    Refuses:  other than one of --account, --bounty and --all; an address that is not https with a public name; more
              webhooks than an account may have; a file for the secret that exists
    Examples: service-cli webhook:add --url https://receiver.example --bounty 7
    """
    from service_cli.config.settings import CHAIN_AND_API, load_settings
    from service_cli.webhook.webhooks import add

    if (account is not None) + (bounty is not None) + everything != 1:
        raise argument_error("--account, --bounty, --all", "give exactly one of them")
    add(load_settings(network, api_base_url, CHAIN_AND_API), url, account, bounty, unsafe, secret_file)


@command("webhook:list", "webhook_list", api=True)
def webhook_list(network: str | None, api_base_url: str | None) -> None:
    """List the webhooks of the account of your key, and how their receivers do.

    \b
    Reads:    SERVICE_SUBSCRIBER_PRIVATE_KEY (or _FILE, _COMMAND, a keystore)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL
    Prints:   webhook_list.webhook (webhook_id, url, account_address, bounty_id, all_bounties, finality, state,
              created_at, last_attempt_at, last_success_at, last_result, last_status, failure_count, failing_since,
              next_attempt_at)
    Refuses:  an API that does not answer in shape
    Examples: service-cli webhook:list
    """
    from service_cli.config.settings import CHAIN_AND_API, load_settings
    from service_cli.webhook.webhooks import show

    show(load_settings(network, api_base_url, CHAIN_AND_API))


@command("webhook:test", "webhook_test", api=True)
@click.argument("webhook_id", type=WEBHOOK_ID)
def webhook_test(webhook_id: "WebhookId", network: str | None, api_base_url: str | None) -> None:
    """Have a test message sent to a webhook of yours; webhook:list shows how it ended.

    One that is not active gets the challenge again, and is active once its receiver answers it.

    \b
    Reads:    SERVICE_SUBSCRIBER_PRIVATE_KEY (or _FILE, _COMMAND, a keystore)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL
    Prints:   webhook_test.requested (webhook_id, state)
    Refuses:  a webhook of another account, or none
    Examples: service-cli webhook:test $WEBHOOK
    """
    from service_cli.config.settings import CHAIN_AND_API, load_settings
    from service_cli.webhook.webhooks import request_test

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
    Prints:   webhook_rotate.rotated (webhook_id, secret_file)
    Refuses:  a webhook of another account, or none; a file for the secret that exists
    Examples: service-cli webhook:rotate --save-to new.secret $WEBHOOK
    """
    from service_cli.config.settings import CHAIN_AND_API, load_settings
    from service_cli.webhook.webhooks import rotate

    rotate(load_settings(network, api_base_url, CHAIN_AND_API), webhook_id, secret_file)


@command("webhook:remove", "webhook_remove", api=True)
@click.argument("webhook_id", type=WEBHOOK_ID)
def webhook_remove(webhook_id: "WebhookId", network: str | None, api_base_url: str | None) -> None:
    """Remove a webhook of yours; its receiver gets nothing more.

    \b
    Reads:    SERVICE_SUBSCRIBER_PRIVATE_KEY (or _FILE, _COMMAND, a keystore)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL
    Prints:   webhook_remove.removed (webhook_id)
    Refuses:  a webhook of another account, or none
    Examples: service-cli webhook:remove $WEBHOOK
    """
    from service_cli.config.settings import CHAIN_AND_API, load_settings
    from service_cli.webhook.webhooks import remove

    remove(load_settings(network, api_base_url, CHAIN_AND_API), webhook_id)
