"""``notice``: whether a notice about the Hub is in effect, and one that came another way than by the API."""

import click

from service_cli.events import CheckedNotices, FoundNotice
from service_cli.shell.arguments import DOCUMENT, read_document
from service_cli.shell.command import command, refuse
from service_cli.shell.output import emit


@command("notice", "notice", api=True)
@click.argument("path", type=DOCUMENT, metavar="[NOTICE_JSON_PATH]", required=False)
def notice(path: str | None, network: str | None, api_base_url: str | None) -> None:
    """Show whether a notice about the Hub is in effect: while one is, this client funds no bounty.

    A notice is signed by an account that the Hub's owner names for it. With NOTICE_JSON_PATH (- for stdin) it is read
    from a file, from wherever you have it, and the API is not asked: it may be silent, or show it to some only. Signer
    and signature are checked on the chain; one that counts is kept on this machine until its end.

    \b
    Reads:    nothing secret
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_ESCROW_TOKEN_ADDRESS, SERVICE_RPC_URL,
              SERVICE_API_BASE_URL, SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS
    Refuses:  a file that holds no notice; a notice that is over, of another Hub, or by another account
    Examples: service-cli notice
              service-cli notice notice.json
    """
    from service_cli.api import api_of
    from service_cli.chain.session import ChainClient
    from service_cli.config.settings import CHAIN, CHAIN_AND_API, load_settings
    from service_cli.witnesses.notices import keep, notices_of, parse_notice, require_counting, served_by

    settings = load_settings(network, api_base_url, CHAIN_AND_API if path is None else CHAIN)
    brought = None
    if path is not None:
        try:
            brought = parse_notice(read_document(path))
        except (ValueError, RecursionError) as error:
            message = f"{path} holds no notice about a Hub: {error}."
            raise refuse("hub_notice_malformed", message, "Get it again from where it was published.") from None
    chain = ChainClient.checked(settings)
    if brought is not None:
        require_counting(chain, brought)
        keep(chain, [brought])
    found = notices_of(chain, served_by(api_of(settings, chain)) if path is None else None)
    for each in found.counting:
        emit(FoundNotice(each.signer, each.reason, each.issued_at, each.expires_at))
    emit(CheckedNotices(found.in_effect is not None))
