"""``config``: each setting as a run would see it, and where it came from.

Secrets are never shown, only that they are set; of an address whose path may hold a key only the host is. What a
command would refuse is not shown, either, but what to set instead: it may be a key in the wrong variable.
"""

from typing import Final

from service_cli.config.environment import FURTHER_VARIABLE, SECRETS, without_credentials
from service_cli.config.events import ConfiguredValue
from service_cli.config.settings import SHOWN, Settings
from service_cli.shell.command import chosen_output, command
from service_cli.shell.output import emit, remark
from service_cli.shell.preferences import OUTPUT_VARIABLE

_WITH_KEYS: Final = frozenset({"SERVICE_RPC_URL", FURTHER_VARIABLE, "SERVICE_SUBGRAPH_ENDPOINT", "SERVICE_BEACON_URLS"})
"""Addresses whose path holds the key at those who host them for others."""


def show_configuration(settings: Settings) -> None:
    """The command ``config``."""
    _show("SERVICE_CHAIN_ID", str(settings.chain_id), settings.network_source)
    for name in SHOWN:
        value, source = settings.origin(name)
        problem = settings.problem(name)
        _show(name, _plain(name, value) if problem is None else _refused(problem.message, problem.next_action), source)
    for name in SECRETS:
        _show(name, *_secret(settings, name))
    output = chosen_output()
    _show(OUTPUT_VARIABLE, output.mode.value, output.source)


def _show(name: str, value: str | None, source: str) -> None:
    emit(ConfiguredValue(name, value, source))
    remark(f"{name} = {value or 'not set'} ({source})")


def _secret(settings: Settings, name: str) -> tuple[str | None, str]:
    found = settings.environment.sources(name)
    if not found:
        return None, "unset"
    source = found[0].level if len(found) > 1 else f"{found[0].level} ({found[0].variable})"
    problem = settings.environment.problem(name)
    return "set, hidden" if problem is None else _refused(*problem), source


def _refused(problem: str, next_action: str) -> str:
    return f"refused: {problem} {next_action}"


def _plain(name: str, value: str | None) -> str | None:
    """Addresses without what may be a credential in them."""
    if not value or (name not in _WITH_KEYS and "@" not in value):
        return value
    return ",".join(without_credentials(url) for url in value.split(","))


@command("config", "config", api=True)
def config(network: str | None, api_base_url: str | None) -> None:
    """Show each setting of a run, and where it came from. Secrets are never shown.

    \b
    Reads:    every variable of this client; keys only as far as that they are set
    Defaults: SERVICE_CHAIN_ID and whatever the network's record knows
    Refuses:  a network that does not exist; a malformed .env
    Examples: service-cli config --network staging
    """
    from service_cli.config.settings import load_settings

    show_configuration(load_settings(network, api_base_url, None))
