"""``service-audit``, the second script of the client's wheel, which is also ``service-cli audit``.

With ``--watch`` it is another program, ``service_checker``, which shares no code with this one.

Nothing of an audit is imported before it runs, so help is there at once; exit code 0 where everything that
was checked holds, 1 where something does not or the audit could not be made, 2 usage.
"""

import sys
from pathlib import Path
from typing import Any

import click
from bounty_protocol.types import BountyId

from service_cli import __version__
from service_cli.ui.arguments import BOUNTY_ID
from service_cli.ui.command import (
    HelpedCommand,
    Program,
    argument_error,
    command,
    run_program,
)


class WatchingCommand(HelpedCommand):
    """An audit, which passes all its arguments to the watchtower where ``--watch`` is among them."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        watches = any(word.partition("=")[0] == "--watch" for word in args)
        if watches and not extra.get("resilient_parsing"):
            from service_checker.__main__ import main as check

            program = f"{parent.command_path} {info_name}" if parent else info_name
            sys.exit(check(args, f"{program} --watch"))
        return super().make_context(info_name, args, parent, **extra)


class AuditCommand(Program, WatchingCommand):
    """A command that is a program."""


def _audit(
    bounty_id: BountyId | None,
    bundle: Path | None,
    source: Path | None,
    sign_as: str | None,
    from_block: int | None,
    strict: bool,
    page: Path | None,
    watch: bool,  # noqa: ARG001 - handled before the arguments are parsed
    network: str | None,
    api_base_url: str | None,
) -> None:
    """Derive a final bounty once more from the chain, and hold everything the service says against it.

    Replays the Hub's log, checks the rules, outcome and amounts, hashes every document, and shows who won, how much and
    by which Verdicts, then what differs and what was not checked. Envelopes are read only with --sign-as, or from a
    bundle. With --html the same is one page of its own, without script and without a request.

    \b
    Reads:    SERVICE_POSTER_PRIVATE_KEY or SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY (or _FILE, a keystore),
              only with --sign-as
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL; nothing with --from
    Refuses:  a bounty that is not final in a finalized block; a bundle that is not one; a file that exists; ends
              refused where something differs
    Examples: service-cli audit 7
              service-cli audit 7 --html report.html
    """
    if bounty_id is None and source is None:
        raise argument_error("BOUNTY_ID", "Name a bounty, or a bundle with --from.")
    if source is not None and (bundle or sign_as or from_block is not None):
        raise argument_error("--from", "A bundle is checked as it is: no --bundle, --sign-as or --from-block with it.")
    from service_cli.audit.run import Request
    from service_cli.audit.run import audit as run_audit

    run_audit(network, api_base_url, Request(bounty_id, bundle, source, sign_as, from_block, strict, page))


_ROLES = click.Choice(["poster", "guardian"])


def _with_options(name: str, kind: type[HelpedCommand]) -> click.Command:
    """The same command under one of its two names."""
    made = command(name, "service_audit", api=True, kind=kind)(_audit)
    if kind is AuditCommand and made.help is not None:  # its examples are typed as that program
        made.help = made.help.replace("service-cli audit", name)
    file = click.Path(path_type=Path)
    made.params += [
        click.Option(["--bundle"], type=file, help="Also write the evidence to this new zip file."),
        click.Option(["--html", "page"], type=file, help="Also write a page for people to this new file."),
        click.Option(["--from", "source"], type=file, help="Check a bundle again, without any network."),
        click.Option(
            ["--sign-as"], type=click.Choice(["poster", "guardian"]), help="Read the envelopes, too, with that key."
        ),
        click.Option(["--from-block"], type=click.IntRange(min=0), help="Where to begin reading the Hub's log."),
        click.Option(["--strict"], is_flag=True, help="Exit code 1 also where something was not checked."),
        click.Option(
            ["--watch"], is_flag=True, help="Watch a whole deployment instead; --watch --help has its options."
        ),
        click.Argument(["bounty_id"], type=BOUNTY_ID, required=False),
    ]
    return made


audit = _with_options("audit", WatchingCommand)
"""``service-cli audit``."""
run = click.version_option(__version__, prog_name="service-audit")(_with_options("service-audit", AuditCommand))
"""``service-audit``, a program of its own."""


def main() -> None:
    """Run the program."""
    run_program(run, "service-audit")


if __name__ == "__main__":
    main()
