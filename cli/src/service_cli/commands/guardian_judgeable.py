"""``guardian:judgeable``: what waits for a Guardian."""

import click
from service_common.types import Address

from service_cli.command import command
from service_cli.values import ADDRESS


@command("guardian:judgeable", "guardian_judgeable", api=True)
@click.option("--guardian-address", type=ADDRESS, required=True, help="The Guardian's account.")
def run(guardian_address: Address, network: str | None, api_base_url: str | None) -> None:
    """List open bounties past their reveal point whose pinned roster names this Guardian.

    Advisory: decrypts and sends nothing. Bounties past their judging deadline are listed until someone settles them.
    Deliveries owed (awarded bounties whose winning key is not handed over) are listed, too.

    \b
    Reads:    nothing secret
    Defaults: SERVICE_CHAIN_ID, SERVICE_SUBGRAPH_ENDPOINT, SERVICE_API_BASE_URL
    Prints:   guardian_judgeable.bounty (bounty_id, reveal_at, judging_deadline, submissions, unopened, own_verdict)
              guardian_judgeable.delivery_owed (bounty_id, solver, submission_commitment)
    Refuses:  an API of another deployment; a subgraph or an API that does not answer in shape
    Examples: service-cli guardian:judgeable --guardian-address $ACCOUNT
    """
    from service_cli.client.judgeable import list_judgeable
    from service_cli.settings import load_settings

    needs = ("SERVICE_SUBGRAPH_ENDPOINT", "SERVICE_API_BASE_URL")
    list_judgeable(load_settings(network, api_base_url, needs), guardian_address)
