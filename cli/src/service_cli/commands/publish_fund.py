"""``poster:publish-fund``: from a page to a funded bounty."""

import click

from service_cli.command import command
from service_cli.pages import read_document


@command("poster:publish-fund", "publish_fund", api=True)
@click.argument("page", metavar="BOUNTY_CHALLENGE_MD_PATH")
def run(page: str, network: str | None, api_base_url: str | None) -> None:
    """Publish a challenge page and fund its bounty from your account.

    Publishes the exact bytes, checks the answer against what it derives itself from the page and the Hub, signs one
    token authorization that binds every term, and sends createBountyWithAuthorization. Run it again after an
    interruption: it continues, and never funds the same page twice. BOUNTY_CHALLENGE_MD_PATH may be - for stdin.

    \b
    Reads:    SERVICE_POSTER_PRIVATE_KEY (required; or SERVICE_POSTER_PRIVATE_KEY_FILE)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_ESCROW_TOKEN_ADDRESS, SERVICE_RPC_URL,
              SERVICE_API_BASE_URL
    Prints:   publish_fund.publication_prepared (spec_commitment, byte_length, poster, hub_address, escrow_amount,
              submission_deadline)
              publish_fund.bounty_created (tx_hash, block_number, bounty_id, spec_commitment)
    Refuses:  a page that is not ready; an answer that differs from its own derivation (commitment, chain, Hub, token,
              roster); a balance below the escrow
    """
    from service_cli.client.publishing import publish_and_fund
    from service_cli.settings import load_settings

    publish_and_fund(load_settings(network, api_base_url), read_document(page))
