"""The command ``keep``. What it does is imported when it runs."""

from pathlib import Path

import click
from bounty_protocol.types import BountyId

from service_cli.shell.arguments import BOUNTY_ID
from service_cli.shell.command import command


@command("keep", "keep", api=True)
@click.option(
    "--sign-as", type=click.Choice(["poster", "guardian"]), help="Keep the sealed work, too, with that key's right."
)
@click.argument("bounty_id", type=BOUNTY_ID)
@click.argument("directory", type=click.Path(path_type=Path))
def keep(
    bounty_id: BountyId, directory: Path, sign_as: str | None, network: str | None, api_base_url: str | None
) -> None:
    """Keep in DIRECTORY what one needs of a bounty if its service is gone one day.

    That is the challenge page, every written Verdict, and once its end is final the VerificationRecord and the bundle
    of an audit. With --sign-as the sealed work of every Solver, too; without it the work that you sealed on this
    machine. README.md there says which command uses what.

    Every file is checked against the chain before it gets its name. Run again, it continues, also an interrupted
    download, and adds what has come since; a file that is there is never written over.

    \b
    Reads:    SERVICE_POSTER_PRIVATE_KEY or SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY (or _FILE, _COMMAND, a keystore),
              only with --sign-as
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL
    Refuses:  with --sign-as an account that is neither the Poster nor a Guardian of the bounty; ends with exit code 1
              where something could not be kept, saying what and why
    Examples: service-cli keep 7 kept/7
              service-cli keep 7 kept/7 --sign-as poster
    """
    from service_cli.config.settings import load_settings
    from service_cli.keeping.keeping import keep_bounty

    keep_bounty(load_settings(network, api_base_url), bounty_id, directory, sign_as)
