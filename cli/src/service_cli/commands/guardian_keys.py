"""``guardian:keys``: the public halves of a Guardian's encryption keys."""

from pathlib import Path

import click

from service_cli.command import command


@command("guardian:keys", "guardian_keys", network=False)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False)
def run(file: Path | None) -> None:
    """Show the public half of each encryption key, newest first. No secret is printed.

    \b
    Reads:   SERVICE_GUARDIAN_PRIVATE_KEYS_JSON (or _FILE), unless FILE is given
    Prints:  guardian_keys.key (position, public_key, recipient)
    Refuses: what is not a JSON array of AGE-SECRET-KEY-1… strings
    """
    from service_cli.client.keyrings import show_keys
    from service_cli.settings import Environment

    show_keys(Environment.of_process(), file)
