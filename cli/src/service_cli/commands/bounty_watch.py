"""``bounty:watch``: one bounty's life as it happens."""

import click
from service_common.types import BountyId

from service_cli.command import command
from service_cli.values import BOUNTY_ID


@command("bounty:watch", "bounty_watch", api=True)
@click.argument("bounty_id", type=BOUNTY_ID)
def run(bounty_id: BountyId, network: str | None, api_base_url: str | None) -> None:
    """Follow a bounty on the chain until its end is finalized, saying what happens next and when.

    Events are printed as blocks bring them, and taken back where a reorg takes them back. Stop with Ctrl-C.

    \b
    Reads:    nothing secret
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL
    Prints:   bounty_watch.event (name, bounty_id, the event's fields, tx_hash, block_number)
              bounty_watch.event_removed (bounty_id, tx_hash, block_number), after a reorg
              bounty_watch.next (bounty_id, step, at)
              bounty_watch.final (bounty_id, outcome, settlement_reason, winner, submission_commitment)
    Refuses:  an unknown bounty; values of different deployments
    Examples: service-cli bounty:watch 7
    """
    from service_cli.client.watching import watch_bounty
    from service_cli.settings import load_settings

    watch_bounty(load_settings(network, api_base_url), bounty_id)
