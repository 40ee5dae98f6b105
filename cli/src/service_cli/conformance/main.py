"""``service-conformance``, the third script of the client's wheel, which is also ``service-cli conformance``.

Exit code 0 where everything that was checked conforms, 1 where something does not, 2 usage.
"""

import click

from service_cli import __version__
from service_cli.shell.arguments import BASE_URL
from service_cli.shell.command import (
    HelpedCommand,
    Program,
    command,
    run_program,
)


class ConformanceCommand(Program, HelpedCommand):
    """A command that is a program."""


def _conform(url: str | None, network: str | None, *, strict: bool) -> None:
    """Look at a deployment's API from outside, and say of each requirement whether it is met.

    Without URL it is the network's own API. Asks about 120 requests: what everybody may read, requests that have to be
    refused, and signed ones with keys that are made for the run and own nothing. Nothing is written, and no money is
    touched. It is one program for every deployment, also of another implementation.

    \b
    Reads:    nothing
    Defaults: SERVICE_RPC_URL, of the deployment's chain, without which signatures are not checked; without URL
              SERVICE_CHAIN_ID and SERVICE_API_BASE_URL
    Refuses:  a deployment that breaks a requirement; with --strict, one of which something could not be checked
    Examples: service-cli conformance
              service-cli conformance --json > report.jsonl
    """
    from service_cli.config.environment import Environment
    from service_cli.config.settings import load_settings
    from service_cli.conformance.run import conform

    if url is None:
        settings = load_settings(network, None)
        conform(settings.api_base_url(), settings.rpc_url(), strict=strict)
    else:
        conform(url, Environment.of_process().get("SERVICE_RPC_URL"), strict=strict)


def _with_options(name: str, kind: type[HelpedCommand]) -> click.Command:
    """The same command under one of its two names."""
    made = command(name, "service_conformance", kind=kind)(_conform)
    if kind is ConformanceCommand and made.help is not None:  # its examples are typed as that program
        made.help = made.help.replace("service-cli conformance", name)
    made.params += [
        click.Option(["--strict"], is_flag=True, help="Exit code 1 also where something was not checked."),
        click.Argument(["url"], type=BASE_URL, required=False),
    ]
    return made


conformance = _with_options("conformance", HelpedCommand)
"""``service-cli conformance``."""
run = click.version_option(__version__, prog_name="service-conformance")(
    _with_options("service-conformance", ConformanceCommand)
)
"""``service-conformance``, a program of its own."""


def main() -> None:
    """Run the program."""
    run_program(run, "service-conformance")


if __name__ == "__main__":
    main()
