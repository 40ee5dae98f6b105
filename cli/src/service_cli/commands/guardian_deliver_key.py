"""``guardian:deliver-key``: hand the winning work's key over."""

import click
from service_common.types import Address, BountyId, Bytes32

from service_cli.command import command
from service_cli.values import ADDRESS, BOUNTY_ID, COMMITMENT


@command("guardian:deliver-key", "guardian_deliver_key", api=True)
@click.argument("bounty_id", type=BOUNTY_ID)
@click.argument("solver", type=ADDRESS)
@click.argument("submission_commitment", type=COMMITMENT)
def run(
    bounty_id: BountyId,
    solver: Address,
    submission_commitment: Bytes32,
    network: str | None,
    api_base_url: str | None,
) -> None:
    """Wrap the winning Submission's content key to the deployment's delivery key, for the Poster.

    Only for the finalized winner, and only to the delivery key that the Hub publishes on chain. Idempotent.

    \b
    Reads:    SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY, SERVICE_GUARDIAN_PRIVATE_KEYS_JSON (each or _FILE)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL, SERVICE_BEACON_URLS
    Prints:   guardian_deliver_key.stored (bounty_id, solver, submission_commitment, created)
    Refuses:  a bounty that is not awarded to this pair; a delivery key that the Hub does not publish
    Examples: service-cli guardian:deliver-key 7 $SOLVER $COMMITMENT
    """
    from service_cli.client.delivering import deliver_key
    from service_cli.settings import load_settings

    deliver_key(load_settings(network, api_base_url), bounty_id, solver, submission_commitment)
