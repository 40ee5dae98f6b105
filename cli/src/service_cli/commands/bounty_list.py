"""``bounty:list``: bounties as the API lists them."""

import click
from service_common.types import Address

from service_cli.command import command
from service_cli.values import ADDRESS


@command("bounty:list", "bounty_list", api=True)
@click.option("--status", type=click.Choice(["open", "final"]), help="Only bounties in this state.")
@click.option("--accepting", is_flag=True, help="Only bounties that take Submissions now.")
@click.option("--judgeable", is_flag=True, help="Only bounties that Guardians can judge now.")
@click.option("--poster-address", type=ADDRESS, help="Only bounties of this Poster.")
@click.option("--solver-address", type=ADDRESS, help="Only bounties this Solver submitted to.")
@click.option("--guardian-address", type=ADDRESS, help="Only bounties whose roster names this Guardian.")
@click.option(
    "--limit", type=click.IntRange(1, 10_000), metavar="COUNT", default=20, show_default=True, help="At most so many."
)
def run(
    status: str | None,
    accepting: bool,
    judgeable: bool,
    poster_address: Address | None,
    solver_address: Address | None,
    guardian_address: Address | None,
    limit: int,
    network: str | None,
    api_base_url: str | None,
) -> None:
    """List bounties; those one can act on come first.

    \b
    Reads:    nothing secret
    Defaults: SERVICE_CHAIN_ID, SERVICE_API_BASE_URL
    Prints:   bounty_list.bounty (bounty_id, facts, active_submission_count, finality, block), one for each
    Refuses:  an API of another deployment, or one that does not answer in shape
    Examples: service-cli bounty:list --accepting
              service-cli bounty:list --poster-address $ACCOUNT --limit 100
    """
    from service_cli.client.browsing import list_bounties
    from service_cli.settings import load_settings

    filters = {
        "status": status,
        "accepting": "true" if accepting else None,
        "judgeable": "true" if judgeable else None,
        "poster_address": poster_address,
        "solver_address": solver_address,
        "guardian_address": guardian_address,
    }
    settings = load_settings(network, api_base_url, ("SERVICE_API_BASE_URL",))
    list_bounties(settings, {name: value for name, value in filters.items() if value is not None}, limit)
