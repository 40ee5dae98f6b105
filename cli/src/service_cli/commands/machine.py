"""Commands about your accounts and this machine: ``status`` and ``doctor``."""

import click
from bounty_protocol.types import Address

from service_cli.commands import load_deployment
from service_cli.ui.arguments import ADDRESS
from service_cli.ui.command import command


@command("status", "status", api=True)
@click.option("--address", "addresses", multiple=True, type=ADDRESS, help="Also show this account; may be repeated.")
def status(addresses: tuple[Address, ...]) -> None:
    """Show your accounts and what each can do now in every role: judge, claim, open.

    \b
    Reads:    the configured keys, to learn their accounts; nothing is signed
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_ESCROW_TOKEN_ADDRESS, SERVICE_RPC_URL,
              SERVICE_API_BASE_URL, SERVICE_SUBGRAPH_ENDPOINT, SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS
    Examples: service-cli status
              service-cli status --address $ACCOUNT
    """
    from service_cli.config.settings import CHAIN_AND_API
    from service_cli.queries.status import show_status

    show_status(load_deployment(CHAIN_AND_API), addresses)


@command("doctor", "doctor", api=True)
@click.option("--address", type=ADDRESS, help="Also check the gas and tokens of this account.")
def doctor(address: Address | None) -> None:
    """Check RPC, Hub, clock, roster, delivery key, API, subgraph and beacon, and say how to fix each fault.

    \b
    Reads:    nothing secret
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_ESCROW_TOKEN_ADDRESS, SERVICE_RPC_URL,
              SERVICE_API_BASE_URL, SERVICE_SUBGRAPH_ENDPOINT, SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS,
              SERVICE_BEACON_URLS
    Examples: service-cli doctor --address $ACCOUNT
    """
    from service_cli.queries.doctor import examine

    examine(load_deployment(None), address)
