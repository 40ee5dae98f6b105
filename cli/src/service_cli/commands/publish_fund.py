"""``poster:publish-fund``: from a page to a funded bounty."""

import click
from service_common.types import Address

from service_cli.command import argument_error, command
from service_cli.pages import read_document
from service_cli.values import ADDRESS


@command("poster:publish-fund", "publish_fund", api=True)
@click.option("--check", is_flag=True, help="Only check the page and show what funding it would cost; needs no key.")
@click.option("--poster-address", type=ADDRESS, help="With --check: whose balance and role to check, too.")
@click.option("--yes", is_flag=True, help="Do not ask before mainnet money moves.")
@click.option("--again", is_flag=True, help="Fund the same page once more: a second bounty with its own escrow.")
@click.argument("page", metavar="BOUNTY_CHALLENGE_MD_PATH")
def run(
    page: str,
    check: bool,
    poster_address: Address | None,
    yes: bool,
    again: bool,
    network: str | None,
    api_base_url: str | None,
) -> None:
    """Publish a challenge page and fund its bounty from your account.

    Publishes the exact bytes, checks the answer against what it derives itself from the page and the Hub, signs one
    token authorization that binds every term, and sends createBountyWithAuthorization. A token without
    authorizations, or an account with code, is funded by an allowance of exactly the escrow instead. Run it again
    after an interruption: it continues. A page that this account has funded before, here or on another machine, is
    refused unless --again is given. BOUNTY_CHALLENGE_MD_PATH may be - for stdin.

    \b
    Reads:    SERVICE_POSTER_PRIVATE_KEY (required; or SERVICE_POSTER_PRIVATE_KEY_FILE)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_ESCROW_TOKEN_ADDRESS, SERVICE_RPC_URL,
              SERVICE_API_BASE_URL, SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS
    Prints:   publish_fund.publication_prepared (spec_commitment, byte_length, poster, hub_address, escrow_amount,
              submission_deadline)
              publish_fund.token_approved (tx_hash, block_number, poster, spender, amount), allowance only
              publish_fund.bounty_created (tx_hash, block_number, bounty_id, spec_commitment)
              publish_fund.checked (what funding fixes and costs, and as which bounties the page was funded
              before: by --poster-address, else by anyone), with --check
    Refuses:  a page that holds a private key; a page that this account has funded before, without --again; a page
              that is not ready; an answer that differs from its own derivation in any field; terms that the Hub would
              refuse; a balance below the escrow or the gas; new terms while an earlier authorization may still be used
    Examples: service-cli poster:publish-fund --check bounty_challenge.md
              service-cli poster:publish-fund bounty_challenge.md
    """
    from service_cli.client.publishing import check_page, publish_and_fund
    from service_cli.settings import CHAIN, load_settings

    if poster_address is not None and not check:
        raise argument_error("--poster-address", "goes with --check; funding is by the account of the key.")
    if check:
        check_page(load_settings(network, api_base_url, CHAIN), read_document(page), poster_address)
    else:
        publish_and_fund(load_settings(network, api_base_url), read_document(page), yes=yes, again=again)
