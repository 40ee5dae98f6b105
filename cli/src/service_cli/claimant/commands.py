"""The Claimant's command, ``claim``. What it does is imported when it runs."""

import click
from service_common.types import Address, BountyId

from service_cli.shell.arguments import ADDRESS, BOUNTY_ID
from service_cli.shell.command import command


@command("claim", "claim")
@click.option("--claimant-address", type=ADDRESS, help="Prepare the call for an external wallet; no key is read.")
@click.argument("bounty_id", type=BOUNTY_ID)
def claim(bounty_id: BountyId, claimant_address: Address | None, network: str | None) -> None:
    """Claim the winner's award or the Poster's refund of a final bounty.

    Picks the right call from finalized contract state. Needs only the chain: no API call and no signed request. After
    an award the Poster claims, too: the shares of Guardians who recorded no Verdict. An outcome whose block the chain
    has not finalized is waited for, half an hour at most (not_finalized); run it again to go on waiting.

    \b
    Reads:    SERVICE_CLAIMANT_PRIVATE_KEY (or _FILE), unless --claimant-address is given
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL
    Prints:   claim.waiting (bounty_id, block_number, finalized_block_number, final_at), while the outcome is not final
              claim.prepared (bounty_id, claimant, function_name, claimable_amount)
              claim.claimed (tx_hash, block_number, claimable_amount)
              claim.transaction_prepared (chain_id, to, value, data, function_name), with --claimant-address
    Refuses:  an open bounty; an account that is neither winner nor Poster; what was claimed before; an empty balance
    Examples: service-cli claim 7
              service-cli claim 7 --claimant-address $ACCOUNT
    """
    from service_cli.claimant.claim import claim
    from service_cli.config.settings import CHAIN, load_settings
    from service_cli.shell.output import print_json

    if claimant_address is not None:  # a program reads what the wallet is to send
        print_json()
    claim(load_settings(network, None, CHAIN), bounty_id, claimant_address)
