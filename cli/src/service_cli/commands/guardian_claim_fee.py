"""``guardian:claim-fee``: a Guardian's share."""

import click
from service_common.types import BountyId

from service_cli.command import command
from service_cli.values import BOUNTY_ID


@command("guardian:claim-fee", "guardian_claim_fee")
@click.argument("bounty_id", type=BOUNTY_ID)
def run(bounty_id: BountyId, network: str | None) -> None:
    """Claim your share of the Guardian fee of a final bounty in which your Verdict was recorded.

    An outcome whose block the chain has not finalized is waited for, half an hour at most.

    \b
    Reads:    SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY (or _FILE)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL
    Prints:   guardian_claim_fee.waiting (bounty_id, block_number, finalized_block_number, final_at)
              guardian_claim_fee.claimed (bounty_id, guardian, amount, tx_hash, block_number)
    Refuses:  an open bounty; an account that is not on the pinned roster; a share already claimed or never earned
    Examples: service-cli guardian:claim-fee 7
    """
    from service_cli.client.guardian_calls import claim_fee
    from service_cli.settings import CHAIN, load_settings

    claim_fee(load_settings(network, None, CHAIN), bounty_id)
