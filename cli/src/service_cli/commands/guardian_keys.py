"""``guardian:keys``: the public halves of a Guardian's encryption keys."""

from pathlib import Path

import click

from service_cli.command import command


@command("guardian:keys", "guardian_keys")
@click.option("--roster", is_flag=True, help="Look for each key in the Hub's current roster.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False)
def run(file: Path | None, roster: bool, network: str | None) -> None:
    """Show the public half of each encryption key, newest first. No secret is printed.

    With --roster it says which of them the current roster holds: new bounties are sealed to that one.

    \b
    Reads:    SERVICE_GUARDIAN_PRIVATE_KEYS_JSON (or _FILE), unless FILE is given
    Defaults: with --roster SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_ESCROW_TOKEN_ADDRESS, SERVICE_RPC_URL,
              SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS
    Prints:   guardian_keys.key (position, public_key, recipient, in_roster)
    Refuses:  what is not a JSON array of AGE-SECRET-KEY-1… strings
    Examples: service-cli guardian:keys --roster
    """
    from service_cli.client.keyrings import show_keys
    from service_cli.environment import Environment
    from service_cli.settings import CHAIN, load_settings

    if not roster:
        show_keys(Environment.of_process(), file, None)
        return
    from service_cli.client.chain import ChainClient

    settings = load_settings(network, None, CHAIN)
    chain = ChainClient(settings)
    chain.check_deployment()
    show_keys(settings.environment, file, chain.current_roster().encryption_public_keys)
