"""``service-mcp``: the server for agents on a person's machine (stdio), or for anybody by a URL (``--http``)."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import click
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, parse_address
from service_cli import __version__
from service_cli.config.environment import Environment
from service_cli.config.settings import CHAIN_AND_API, load_settings

from service_mcp.policy import ROLES, Policy, Role
from service_mcp.server import Options, make_server


@click.command("service-mcp", context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="service-mcp")
@click.option("--network", help="mainnet, staging, local or a chain id; instead of SERVICE_CHAIN_ID.")
@click.option(
    "--role", "roles", multiple=True, type=click.Choice(ROLES), help="Add a role's tools; may be given often."
)
@click.option("--work-dir", type=click.Path(path_type=Path), help="The one directory that files leave from.")
@click.option("--policy", type=click.Path(path_type=Path), help="What may be signed without a person.")
@click.option("--account", "accounts", multiple=True, metavar="ROLE=0x…", help="An account whose key is in a wallet.")
@click.option("--pages", help="Where the service's pages are, for a Poster's or a Guardian's wallet.")
@click.option("--http", "address", metavar="HOST:PORT", help="Serve the reading tools to anybody, without keys.")
@click.option("--allow-host", "hosts", multiple=True, help="With --http: a Host that requests may name; often.")
def main(
    network: str | None,
    roles: tuple[Role, ...],
    work_dir: Path | None,
    policy: Path | None,
    accounts: tuple[str, ...],
    pages: str | None,
    address: str | None,
    hosts: tuple[str, ...],
) -> None:
    """Serve the Bounty Escrow Service to agents over the Model Context Protocol.

    Without --role it only reads. With a role it prepares plans, which a person approves in a wallet; with a policy that
    this user cannot write it signs within its caps. docs/agents.md says what each protects from, and what it does not.

    The deployment and keys come from the variables of service-cli: SERVICE_CHAIN_ID, SERVICE_SOLVER_PRIVATE_KEY_FILE
    and so on. A .env file is not read.
    """
    if address is not None:
        acting = {"--role": roles, "--work-dir": work_dir, "--policy": policy, "--account": accounts, "--pages": pages}
        _require_none(acting, "With --http nobody acts")
    else:
        _require_none({"--allow-host": hosts}, "Without --http nobody is asked by a URL")
        _require_none({} if roles else {"--policy": policy}, "Without --role nothing is signed")
    if roles and work_dir is None:
        raise click.UsageError("--role takes --work-dir: the one directory that files may leave from.")
    try:
        needs = None if address is None else CHAIN_AND_API
        for problem in load_settings(network, None, needs, Environment(dict(os.environ), {})).problems():
            raise problem
        if address is not None:
            from service_mcp.http import OF_STRANGERS, serve

            values = {name: value for name, value in os.environ.items() if "PRIVATE_KEY" not in name}
            serve(Options(values, network, limits=OF_STRANGERS), address, hosts)
            return
        permitted, named = None if policy is None else Policy.read(policy), dict(map(_account, accounts))
        options = Options(dict(os.environ), network, frozenset(roles), work_dir, permitted, named, pages)
        make_server(options).run("stdio")
    except ServiceError as error:
        click.echo(f"refused: {error.message}\nnext: {error.next_action}", err=True)
        sys.exit(1)


def _require_none(options: Mapping[str, object], why: str) -> None:
    """Raise a usage error if one of these is given, which would have no effect."""
    if given := [name for name, value in options.items() if value]:
        raise click.UsageError(f"{why}: leave {' and '.join(given)} away.")


def _account(text: str) -> tuple[Role, Address]:
    role, _, account = text.partition("=")
    known = next((each for each in ROLES if each == role), None)
    try:
        if known is not None:
            return known, parse_address(account)
    except ValueError:
        pass
    raise click.BadParameter(
        f"it is a role of {', '.join(ROLES)}, an equals sign and an address.", param_hint="--account"
    )
