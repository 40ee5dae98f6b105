"""``doctor``: whether everything is there and belongs together."""

import click
from service_common.types import Address

from service_cli.command import command
from service_cli.values import ADDRESS


@command("doctor", "doctor", api=True)
@click.option("--address", type=ADDRESS, help="An account whose gas and tokens to check, too.")
def run(address: Address | None, network: str | None, api_base_url: str | None) -> None:
    """Check RPC, Hub, clock, roster, API, subgraph and beacon, and say what mends each.

    \b
    Reads:    nothing secret
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_ESCROW_TOKEN_ADDRESS, SERVICE_RPC_URL,
              SERVICE_API_BASE_URL, SERVICE_SUBGRAPH_ENDPOINT, SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS,
              SERVICE_BEACON_URLS
    Prints:   doctor.check (name, ok, detail, fix), one for each check
    Refuses:  a deployment in which any check fails (after all of them): exit code 1
    Examples: service-cli doctor --address $ACCOUNT
    """
    from service_cli.client.doctor import examine
    from service_cli.settings import load_settings

    examine(load_settings(network, api_base_url, None), address)
