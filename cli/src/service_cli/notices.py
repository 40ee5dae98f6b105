"""What a person should know of where a run's values come from, before anything is signed with them.

Promises: what a ``.env`` of the working directory decides is told in one line, addresses with their values: somebody
else may have put it there. A variable that looks like a mistyped one of this client is named. No key, no credential of
an address and no value of unexpected form is shown.
"""

import re
from typing import Final
from urllib.parse import urlsplit

from service_cli.environment import SECRETS, Environment
from service_cli.output import warn
from service_cli.words import printable

_ACCOUNTS: Final = ("SERVICE_HUB_ADDRESS", "SERVICE_ESCROW_TOKEN_ADDRESS")
_URLS: Final = ("SERVICE_RPC_URL", "SERVICE_API_BASE_URL", "SERVICE_SUBGRAPH_ENDPOINT")
_ACCOUNT: Final = re.compile(r"0x[0-9a-fA-F]{40}")
_NETWORK: Final = re.compile(r"[a-z0-9]{1,16}")
_KNOWN: Final = (
    *_ACCOUNTS, *_URLS, *SECRETS, *(f"{name}_FILE" for name in SECRETS), "SERVICE_CHAIN_ID",
    "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS", "SERVICE_BEACON_URLS", "SERVICE_BEACON_CHAIN_HASH",
    "SERVICE_BEACON_PUBLIC_KEY", "SERVICE_FINALITY_DEPTH", "SERVICE_DEBUG",
)  # fmt: skip
_OF_OTHER_PROGRAMS: Final = {
    "SERVICE_RPC_URLS",
    "SERVICE_SETTLER_PRIVATE_KEY",
    "SERVICE_SETTLER_PRIVATE_KEY_FILE",
}
"""The services' own variables that are close to one of this client."""
_CLOSE: Final = 0.9


def tell_sources(environment: Environment) -> None:
    """Name what ``.env`` decides, and what looks mistyped."""
    decided = [name for name in environment.fallback if _decides(environment, name)]
    if decided:
        warn(f"note: taken from .env: {', '.join(_shown(environment, name) for name in sorted(decided))}")
    for name in sorted({*environment.exported, *environment.fallback}):
        if (meant := _meant(name)) is not None and environment.get(name):
            warn(f"warning: {printable(name, 80)} is not read by this client; did you mean {meant}?")


def without_credentials(url: str) -> str:
    """Scheme, host and port; of a path only that there is one, since it may hold a key."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "malformed"
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return "malformed"
    more = "/…" if parts.path.strip("/") or parts.query else ""
    return f"{parts.scheme}://{printable(parts.hostname, 100)}{port}{more}"


def _decides(environment: Environment, name: str) -> bool:
    """Keys are told where they are used."""
    secret = name.removesuffix("_FILE") in SECRETS
    return bool(environment.fallback[name]) and not environment.exported.get(name) and not secret


def _shown(environment: Environment, name: str) -> str:
    value = environment.fallback[name]
    if name in _URLS:
        return f"{name}={without_credentials(value)}"
    form = _ACCOUNT if name in _ACCOUNTS else _NETWORK if name == "SERVICE_CHAIN_ID" else None
    return printable(name, 80) if form is None else f"{name}={value if form.fullmatch(value) else 'malformed'}"


def _meant(name: str) -> str | None:
    if not name.upper().startswith("SERV") or name in _KNOWN or name in _OF_OTHER_PROGRAMS:
        return None
    from difflib import get_close_matches

    return next(iter(get_close_matches(name.upper(), _KNOWN, n=1, cutoff=_CLOSE)), None)
