"""Every setting as a run would see it, and where it came from.

Promises: secrets are never shown, only that they are set; of an RPC address only the host is, since its path may hold
a key.
"""

from typing import Final
from urllib.parse import urlsplit

from service_cli.output import event, say
from service_cli.settings import LOCAL_VARIABLES, Settings

SECRETS: Final = (
    "SERVICE_POSTER_PRIVATE_KEY",
    "SERVICE_SOLVER_PRIVATE_KEY",
    "SERVICE_CLAIMANT_PRIVATE_KEY",
    "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY",
    "SERVICE_GUARDIAN_PRIVATE_KEYS_JSON",
)


def show_configuration(settings: Settings) -> None:
    """The command ``config``."""
    _show("SERVICE_CHAIN_ID", str(settings.chain_id), settings.network_source)
    for name in LOCAL_VARIABLES:
        value, source = settings.origin(name)
        _show(name, _host(value) if value and name == "SERVICE_RPC_URL" else value, source)
    for name in SECRETS:
        _show(name, *_secret(settings, name))


def _show(name: str, value: str | None, source: str) -> None:
    event("config.value", {"name": name, "value": value, "source": source})
    say(f"{name} = {value or 'not set'} ({source})")


def _secret(settings: Settings, name: str) -> tuple[str | None, str]:
    for level, source in ((settings.environment.exported, "environment"), (settings.environment.fallback, ".env")):
        for variable in (name, f"{name}_FILE"):
            if level.get(variable):
                return "set, hidden", f"{source} ({variable})"
    return None, "unset"


def _host(url: str) -> str:
    parts = urlsplit(url)
    try:
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "malformed"
    return f"{parts.scheme}://{parts.hostname}{port}{'/…' if parts.path.strip('/') or parts.query else ''}"
