"""The Claimant's command, ``claim``. What it does is imported when it runs."""

import click
from bounty_protocol.types import Address, BountyId

from service_cli.commands import load_deployment
from service_cli.ui.arguments import ADDRESS, BOUNTY_ID
from service_cli.ui.command import argument_error, command


@command("claim", "claim", api=True, sends=True)
@click.option("--all", "everything", is_flag=True, help="Claim everything the account is owed, in every role.")
@click.option("--claimant-address", type=ADDRESS, help="Prepare the call for an external wallet; no key is read.")
@click.argument("bounty_id", type=BOUNTY_ID, required=False)
def claim(bounty_id: BountyId | None, claimant_address: Address | None, everything: bool) -> None:
    """Claim the winner's award or the Poster's refund of a final bounty.

    Picks the right call from finalized contract state. Needs only the chain: no API call and no signed request. After
    an award the Poster can also claim: the shares of Guardians who recorded no Verdict. If the block of the outcome is
    not finalized yet, the command waits up to half an hour (not_finalized); run it again to keep waiting.

    With --claimant-address the call is printed for an external wallet to send. Run the command again to find what was
    sent.

    With --all it claims every award, refund, Guardian fee and protocol fee that the account is owed, up to 32 in one
    transaction. Where the Hub's log is long, the API's list says which bounties to check; the amounts are read from the
    Hub.

    The key is SERVICE_CLAIMANT_PRIVATE_KEY. If it is not set, the key of the other roles is used, as long as they all
    have the same account.

    \b
    Reads:    SERVICE_CLAIMANT_PRIVATE_KEY (or _FILE, a keystore), unless --claimant-address is given
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL; with --all SERVICE_API_BASE_URL
    Examples: service-cli claim 7
              service-cli claim --all
              service-cli claim 7 --claimant-address $ACCOUNT
    """
    from service_cli.config.settings import CHAIN
    from service_cli.ui.output import print_json

    if everything is (bounty_id is not None):
        raise argument_error("BOUNTY_ID", "Give either BOUNTY_ID or --all.")
    if claimant_address is not None:  # a program reads what the wallet is to send
        print_json()
    settings = load_deployment(CHAIN)
    from service_cli.acts.claims import claim as claim_one
    from service_cli.acts.claims import claimant
    from service_cli.chain.outside import ExternalSigner
    from service_cli.chain.signer import Signer
    from service_cli.config.env_consent import tell_meant

    signer: Signer
    if claimant_address is not None:
        tell_meant(settings)
        signer = ExternalSigner(claimant_address)
    else:
        signer = claimant(settings)
    if bounty_id is not None:
        claim_one(settings, bounty_id, signer)
        return
    from service_cli.acts.claim_all import claim_all

    claim_all(settings, signer)
