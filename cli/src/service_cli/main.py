"""``service-cli``: the table of commands.

The arguments and the help of a role's commands are imported when one of them is named, and what a command does when it
runs, so help and version are there at once.
"""

import re
from importlib import import_module
from typing import Any, Final

import click

from service_cli import __version__
from service_cli.ui.arguments import NETWORK_NAME, offer_of, redacting
from service_cli.ui.command import (
    JSON_HELP,
    NETWORK_HELP,
    NO_COLOR_HELP,
    QUIET_HELP,
    Program,
    run_program,
)

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "status": ("commands.machine", "Show your accounts and what you can do now."),
    "bounty:list": ("commands.bounty", "List bounties; those you can act on come first."),
    "bounty:show": ("commands.bounty", "Show one bounty."),
    "bounty:watch": ("commands.bounty", "Follow one bounty until it is final, or all final events."),
    "poster:new": ("commands.poster", "Write a template of a challenge page."),
    "poster:check": ("commands.poster", "Review a challenge page on this machine."),
    "poster:publish-fund": ("commands.poster", "Publish a challenge page and fund its bounty."),
    "poster:open-winning-submission": ("commands.poster", "Open the winning work of your bounty."),
    "solver:submit": ("commands.solver", "Seal a directory, upload it and record the Submission."),
    "claim": ("commands.claim", "Claim an award or a refund."),
    "guardian:judgeable": ("commands.guardian", "List bounties that wait for your Verdict."),
    "guardian:open": ("commands.guardian", "Open a Submission after the reveal point."),
    "guardian:verdict": ("commands.guardian", "Publish a written Verdict and record it on chain."),
    "guardian:deliver-key": ("commands.guardian", "Deliver the winning work's key to the Poster."),
    "guardian:new-key": ("commands.guardian", "Make or rotate your encryption key."),
    "guardian:keys": ("commands.guardian", "Show the public halves of your encryption keys."),
    "guardian:heartbeat": ("commands.guardian", "Record a heartbeat on chain."),
    "guardian:claim-fee": ("commands.guardian", "Claim a Guardian's share."),
    "spec-commitment": ("commands.poster", "Hash a challenge page; no network."),
    "verification-record": ("commands.bounty", "Show the record of a final bounty."),
    "doctor": ("commands.machine", "Check the configuration and every endpoint."),
    "completion": ("ui.completion", "Print a shell's completion script."),
}
"""Each command's module, which has it as a function of the command's name, and its line of help."""


EPILOG: Final = """\b
Without --network and SERVICE_CHAIN_ID the network is mainnet. A terminal shows text; a pipe or a file gets events, one
JSON object a line. Exit: 0 done, 1 refused or failed, 2 usage, 130 or 143 interrupted. Run an interrupted command again
to continue.
"""
_GROUPS: Final = {
    "bounty": "For anyone",
    "poster": "For a Poster",
    "solver": "For a Solver",
    "claim": "For a winner, or a Poster who is refunded",
    "guardian": "For a Guardian",
}
"""The heading of a command in the overview, by its module."""
_THIS_MACHINE: Final = "Your accounts and this machine"


def _heading(module: str) -> str:
    return _GROUPS.get(module.rpartition(".")[2], _THIS_MACHINE)


class LazyGroup(Program, click.Group):
    """A group whose commands are imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name == "help":
            return show_help
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"service_cli.{COMMANDS[cmd_name][0]}")
        found: click.Command = getattr(module, re.sub(r"[:-]", "_", cmd_name))
        return found

    def problem_of(self, args: list[str]) -> str | None:
        if args and args[0].partition("=")[0] == "--api-base-url":
            return "Put --api-base-url after the command, as in: service-cli doctor --api-base-url URL"
        return None

    def invoke(self, ctx: click.Context) -> Any:
        with redacting():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if (
            len(args) > 1 and (joined := f"{args[0]}:{args[1]}") in COMMANDS
        ):  # "bounty list" works, as in other programs
            args = [joined, *args[2:]]
        known = args and (args[0] in COMMANDS or args[0] == "help" or args[0].startswith("-"))
        if args and not known and not ctx.resilient_parsing:
            from difflib import get_close_matches

            meant = next(iter(get_close_matches(args[0], COMMANDS, n=1, cutoff=0.7)), None)
            hint = f" Did you mean {meant}?" if meant else ""
            ctx.fail(f"No such command {args[0][:60]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        longest = max(map(len, COMMANDS))
        for heading in dict.fromkeys(_heading(module) for module, _ in COMMANDS.values()):
            rows = [(name, line) for name, (module, line) in COMMANDS.items() if _heading(module) == heading]
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(longest), line) for name, line in rows])
        with formatter.section("Help"):
            rows = [("help COMMAND", "What a command reads and prints.")]
            formatter.write_dl([(name.ljust(longest), line) for name, line in rows])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EPILOG,
)
@click.version_option(__version__, prog_name="service-cli")
@click.option("--network", type=NETWORK_NAME, help=NETWORK_HELP)
@click.option("--quiet", "-q", is_flag=True, help=QUIET_HELP)
@click.option("--json", is_flag=True, help=JSON_HELP)
@click.option("--no-color", is_flag=True, help=NO_COLOR_HELP)
def group(network: str | None, **_output: bool) -> None:  # each command reads them
    """Bounties with escrow: publish and fund, submit sealed work, judge, claim, open the winning work."""


@click.command("help", help="Show what a command reads and prints; without a name, list all commands.")
@click.argument(
    "name",
    metavar="[COMMAND]",
    required=False,
    shell_complete=lambda _ctx, _param, typed: offer_of(lambda: COMMANDS)(typed),
)
@click.pass_context
def show_help(ctx: click.Context, name: str | None) -> None:
    parent = ctx.parent or ctx
    if name is None:
        click.echo(parent.get_help())
        return
    found = group.get_command(parent, name)
    if name == "help":
        click.echo(ctx.get_help())
        return
    if found is None:
        group.resolve_command(parent, [name])
        raise click.UsageError(f"No such command {name[:60]!r}.", parent)
    with click.Context(found, info_name=name, parent=parent) as inner:
        click.echo(found.get_help(inner))


def main() -> None:
    """Run the command line."""
    run_program(group, "service-cli")


if __name__ == "__main__":
    main()
