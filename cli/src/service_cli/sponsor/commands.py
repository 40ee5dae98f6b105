"""The sponsor's command, ``sponsor:fund``. What it does is imported when it runs."""

import click

from service_cli.shell.arguments import DOCUMENT, read_document
from service_cli.shell.command import argument_error, command


@command("sponsor:fund", "sponsor_fund", sends=True)
@click.option("--check", is_flag=True, help="Only check the file, and show what sending it costs; needs no key.")
@click.option("--yes", is_flag=True, help="Do not ask before it is sent on mainnet.")
@click.argument("file", type=DOCUMENT, metavar="FILE")
def sponsor_fund(file: str, check: bool, yes: bool, network: str | None, max_cost: int | None) -> None:
    """Fund a bounty that somebody else signed, and pay its gas.

    FILE is what poster:publish-fund --hand-over wrote for a Poster without ether. The escrow comes from the Poster's
    tokens, and the bounty is the Poster's: you pay the gas, and get nothing for it. Page, terms, Hub, balance,
    signature and time are checked, and the call is tried, before anything is sent. Run it again after an interruption:
    it continues, and shows the bounty once it is there, no matter who sent it. FILE may be - for stdin.

    \b
    Reads:    SERVICE_SPONSOR_PRIVATE_KEY (or _FILE, _COMMAND, a keystore); nothing secret with --check
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_ESCROW_TOKEN_ADDRESS, SERVICE_RPC_URL,
              SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS
    Refuses:  a file that was changed, or is for another Hub; what was signed more than an hour ago; a Poster without
              the tokens; terms that the Hub would refuse; while a notice about the Hub is in effect
    Examples: service-cli sponsor:fund --check funding.json
              service-cli sponsor:fund funding.json
    """
    from service_cli.config.settings import CHAIN, load_settings
    from service_cli.poster.hand_over import MOST_BYTES
    from service_cli.sponsor.funding import check_hand_over, fund

    if check and yes:
        raise argument_error("--yes", "--check is given already; it sends nothing.")
    settings, data = load_settings(network, None, CHAIN, max_cost=max_cost), read_document(file, MOST_BYTES)
    if check:
        check_hand_over(settings, data)
    else:
        fund(settings, data, yes=yes)
