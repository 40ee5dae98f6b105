"""Consent to sign with the values of a ``.env``, and ``env:allow``, which gives it.

A file is accepted by its directory and its content; what differs from the network's record needs ``--differing``, too.
A script accepts the content that it knows: ``SERVICE_ACCEPTED_ENV_FILE``, exported, is the SHA-256 of the file.
Commands that sign nothing read a ``.env`` that nobody accepted, and say what they take from it.
"""

from pathlib import Path

import click
from bounty_protocol.chain.deployment import parse_network
from bounty_protocol.errors import Issue

from service_cli.config.env_file import ACCEPTED_VARIABLE, Acceptance, EnvFile, accept, opened_above, revoke
from service_cli.config.environment import DOTENV, SECRETS, Environment
from service_cli.config.settings import Settings, load_settings
from service_cli.errors import CommandRefused
from service_cli.ui.command import command
from service_cli.ui.output import emit, say

_OTHERWISE = "or export what you mean."


def require_accepted(settings: Settings, *secrets: str) -> None:
    """Before anything is signed, or one of these keys is used: refuse a ``.env`` that was not accepted as it is."""
    environment = settings.environment
    if environment.file is None or not environment.taken(secrets):
        return
    acceptance = require_known(environment, environment.file, *secrets)
    if (differing := differences(settings)) and not acceptance.differing:
        raise _differs(differing, f"If you mean that, service-cli env:allow --differing, {_OTHERWISE}")


def file_in_use(environment: Environment, *secrets: str) -> EnvFile | None:
    """The ``.env``, where a run that uses these keys takes anything from it."""
    return environment.file if environment.taken(secrets or SECRETS) else None


def require_known(environment: Environment, file: EnvFile, *secrets: str) -> Acceptance:
    """The acceptance of the file as it is; refused without one, and always below a directory of opened work."""
    require_elsewhere(file)
    if (acceptance := Acceptance.of(file, environment.exported)) is not None:
        return acceptance
    named = ", ".join(environment.taken(secrets))
    other = f" {ACCEPTED_VARIABLE} names another content." if environment.exported.get(ACCEPTED_VARIABLE) else ""
    message = f"{file.path} sets {named}, and you have not accepted it as it is.{other} Nothing was signed."
    next_action = f"Read it; if all of it is yours, run service-cli env:allow, {_OTHERWISE}"
    raise CommandRefused("environment_file_not_accepted", message, next_action=next_action)


def require_elsewhere(file: EnvFile) -> None:
    """Refuse a file that came with opened work."""
    if (opened := opened_above(file.path)) is not None:
        message = f"{file.path} is below {opened}, which holds opened work: its Solver may have put it there."
        next_action = "Run the command in another directory; never with a .env that came with somebody's work."
        raise CommandRefused("environment_file_in_opened_work", message, next_action=next_action)


def differences(settings: Settings) -> list[Issue]:
    """Each value taken from the ``.env`` that is not that of the network's record; the network itself where the run
    names another one."""
    issues, values, record = [], settings.environment.fallback, settings.record
    if settings.network_source in {"--network", "environment"} and (named := values.get("SERVICE_CHAIN_ID")):
        try:
            same = parse_network(named) == settings.chain_id
        except ValueError:
            same = False
        if not same:
            issues.append(Issue("SERVICE_CHAIN_ID", "names another network than this run"))
    for name in settings.environment.taken():
        overridden = name == "SERVICE_API_BASE_URL" and settings.api_override is not None
        known = None if record is None or overridden else settings.recorded(name)
        if known is not None and _plain(values[name]) != _plain(known):
            issues.append(Issue(name, f"is not {known}, as the network's record has it"))
    return issues


def _plain(value: str) -> str:
    return value.strip().rstrip("/").lower()


def _differs(differing: list[Issue], next_action: str) -> CommandRefused:
    named = ", ".join(issue.path for issue in differing)
    message = f"The {DOTENV} here differs from the network's record in {named}. Nothing was signed."
    return CommandRefused("environment_file_differs", message, issues=differing, next_action=next_action)


@command("env:allow", "env_allow")
@click.option("--differing", is_flag=True, help="Accept values that differ from the network's record, too.")
@click.option("--revoke", "is_revoked", is_flag=True, help="Take the acceptance back.")
def env_allow(differing: bool, is_revoked: bool, network: str | None) -> None:
    """Accept the .env of this directory as it is now, so that commands sign with what it sets.

    A .env may be somebody else's, and chooses the network, the endpoint, the Hub and the service that your key works
    for. Read it first. It is accepted by its path and its content: once either changes, it is to be accepted again.
    A script accepts a content that it knows by exporting its SHA-256 as SERVICE_ACCEPTED_ENV_FILE.

    \b
    Reads:    the .env of the working directory
    Defaults: SERVICE_CHAIN_ID
    Refuses:  a directory without a .env that sets anything; a .env below a directory of opened work; without
              --differing, values that differ from the network's record
    Examples: service-cli env:allow
              service-cli env:allow --revoke
    """
    from service_cli.config.events import AcceptedFile  # every command that signs imports this module

    if is_revoked:
        _revoke(Path(DOTENV).absolute().parent.resolve() / DOTENV)
        return
    environment = Environment.of_process()
    if (file := file_in_use(environment)) is None:
        message = f"There is no {DOTENV} here that sets anything for this client."
        next_action = "Run the command in the directory of the file; what is exported needs no acceptance."
        raise CommandRefused("environment_file_missing", message, next_action=next_action)
    require_elsewhere(file)
    settings = load_settings(network, None, None, environment)
    found = differences(settings)
    if found and not differing:
        raise _differs(found, "Check each of them; to accept them, too, add --differing.")
    accept(file, differing=differing)
    taken = list(environment.taken())
    emit(AcceptedFile(str(file.path), file.digest, tuple(taken), tuple(issue.path for issue in found)))
    say(f"a script accepts the same content with {ACCEPTED_VARIABLE}={file.digest}")


def _revoke(path: Path) -> None:
    from service_cli.config.events import RevokedFile

    if not revoke(path):
        message = f"{path} was not accepted."
        raise CommandRefused("environment_file_not_accepted", message, next_action="Nothing is left to do.")
    emit(RevokedFile(str(path)))
