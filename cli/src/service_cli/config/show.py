"""``config``: each setting as a run would see it, and where it came from.

Secrets are never shown, only that they are set; of an address whose path may hold a key only the host is. A key that is
set in two forms is shown as refused.
"""

from typing import Final

from service_cli.config.environment import (
    FURTHER_VARIABLE,
    GAS_PRICE_VARIABLE,
    SECRETS,
    contradiction,
    without_credentials,
)
from service_cli.config.events import ConfiguredValue
from service_cli.config.settings import FORCED, LOCAL_VARIABLES, Settings
from service_cli.shell.command import chosen_output, command
from service_cli.shell.output import emit, remark
from service_cli.shell.preferences import OUTPUT_VARIABLE

_WITH_KEYS: Final = frozenset({"SERVICE_RPC_URL", FURTHER_VARIABLE, "SERVICE_SUBGRAPH_ENDPOINT", "SERVICE_BEACON_URLS"})
"""Addresses whose path holds the key at those who host them for others."""


def show_configuration(settings: Settings) -> None:
    """The command ``config``."""
    _show("SERVICE_CHAIN_ID", str(settings.chain_id), settings.network_source)
    for name in (*LOCAL_VARIABLES, FURTHER_VARIABLE, *FORCED, "SERVICE_FINALITY_DEPTH", GAS_PRICE_VARIABLE):
        value, source = settings.origin(name)
        _show(name, _plain(name, value), source)
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
    if len(found) > 1:
        problem, next_action = contradiction(found)
        return f"refused: {problem} {next_action}", found[0].level
    return "set, hidden", f"{found[0].level} ({found[0].variable})"


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
