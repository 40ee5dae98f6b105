"""``poster:new``: a challenge page to start from."""

from pathlib import Path

import click

from service_cli.command import command


@command("poster:new", "poster_new", network=False)
@click.argument("path", type=click.Path(path_type=Path), default=Path("bounty_challenge.md"))
def run(path: Path) -> None:
    """Write a template of a challenge page, to be filled in. PATH defaults to bounty_challenge.md.

    \b
    Reads:   nothing
    Prints:  poster_new.written (path)
    Refuses: a path at which a file exists
    Examples: service-cli poster:new my_bounty.md
    """
    import time

    from service_cli.output import event, say
    from service_cli.template import write_template

    write_template(path, int(time.time()))
    event("poster_new.written", {"path": str(path)})
    say(f"fill in what stands in angle brackets, then: service-cli poster:publish-fund --check {path}")
