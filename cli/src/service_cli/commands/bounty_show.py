"""``bounty:show``: one bounty as the API shows it."""

import click
from service_common.types import BountyId

from service_cli.command import command
from service_cli.values import BOUNTY_ID


@command("bounty:show", "bounty_show", api=True)
@click.argument("bounty_id", type=BOUNTY_ID)
def run(bounty_id: BountyId, network: str | None, api_base_url: str | None) -> None:
    """Show one bounty: its facts, roster, active Submissions, challenge page and record.

    \b
    Reads:    nothing secret
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_API_BASE_URL
    Prints:   bounty_show.bounty (the bounty as GET /api/bounties/{bounty_id} answers it)
    Refuses:  an unknown bounty; an answer of another deployment
    Examples: service-cli bounty:show 7
    """
    from service_cli.client.browsing import show_bounty
    from service_cli.settings import load_settings

    needs = ("SERVICE_HUB_ADDRESS", "SERVICE_API_BASE_URL")
    show_bounty(load_settings(network, api_base_url, needs), bounty_id)
