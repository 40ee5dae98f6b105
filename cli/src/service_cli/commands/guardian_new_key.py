"""``guardian:new-key``: make or rotate a Guardian's encryption key."""

from pathlib import Path

import click

from service_cli.command import command


@command("guardian:new-key", "guardian_new_key", network=False)
@click.option("--rotate", is_flag=True, help="Put a new key before those that the file holds; none is removed.")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
def run(file: Path | None, rotate: bool) -> None:
    """Make an encryption key and write it to FILE, readable by its owner only.

    FILE is what SERVICE_GUARDIAN_PRIVATE_KEYS_JSON_FILE names, unless given. Only the public half is printed: it goes
    into the next roster. Keys are kept after a rotation, since older bounties are sealed to them.

    \b
    Reads:   SERVICE_GUARDIAN_PRIVATE_KEYS_JSON, whose keys a new FILE takes over; or _FILE
    Prints:  guardian_new_key.written (path, public_key, recipient, key_count)
    Refuses: a FILE that exists, unless --rotate; with --rotate one that does not; a FILE that holds something else
    Examples: service-cli guardian:new-key guardian-keys.json
              service-cli guardian:new-key --rotate guardian-keys.json
    """
    from service_cli.client.keyrings import add_key
    from service_cli.environment import Environment

    add_key(Environment.of_process(), file, rotate=rotate)
