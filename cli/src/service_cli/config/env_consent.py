"""Consent to a ``.env`` that chooses what a key of this person works for: the Hub's last six digits, typed in each run.

Somebody else may have put the file there, and it could choose the network, the endpoint, the contract, the token and
the service. Nothing answers the question but the person at the terminal; a script exports the values. A file in which
the signing key itself stands is its owner's, and nothing is asked; the path of a key's file can be guessed by anybody.
What signs nothing asks nothing: a call that a wallet only sends is shown with the file and the Hub.
"""

import sys
from typing import Final

from service_cli.config.environment import DOTENV, KeyForm
from service_cli.config.settings import Settings
from service_cli.errors import CommandRefused
from service_cli.ui.consent import can_be_asked
from service_cli.ui.output import warn

_DIGITS: Final = 6
_CHOICES: Final = frozenset({
    "SERVICE_CHAIN_ID", "SERVICE_HUB_ADDRESS", "SERVICE_ESCROW_TOKEN_ADDRESS", "SERVICE_RPC_URL", "SERVICE_RPC_URLS",
    "SERVICE_API_BASE_URL",
})  # fmt: skip
_TYPED: Final = "the Hub's digits"
"""Where a run remembers that they were typed."""


def require_meant(settings: Settings, key: str | None) -> None:
    """Refuse to sign with this key variable (None for a wallet) for values from a ``.env`` that nobody confirmed."""
    environment, chosen = settings.environment, _chosen(settings)
    source = None if key is None else environment.source(key)
    if chosen is None or _TYPED in environment.read:
        return
    if source is not None and (source.level, source.form) == (DOTENV, KeyForm.VARIABLE):
        return
    hub, message = settings.hub_address(), chosen
    if can_be_asked():
        warn(f"{message} Type the last {_DIGITS} digits of the Hub that you mean.")
        if sys.stdin.readline().strip().lower() == hub[-_DIGITS:]:
            environment.read[_TYPED] = hub
            return
        message = f"{message} The digits typed are not the last of its Hub, {hub}."
    next_action = "Type the Hub's last digits at a terminal, or export the variables you mean."
    raise CommandRefused("environment_file_not_confirmed", f"{message} Nothing was signed.", next_action=next_action)


def tell_meant(settings: Settings) -> None:
    """Show which file chose what a call is for, and the Hub that it calls, if a ``.env`` chose any of it."""
    if (chosen := _chosen(settings)) is not None:
        warn(f"note: {chosen} The call is for the Hub {settings.hub_address()}: send it only if you mean that one.")


def _chosen(settings: Settings) -> str | None:
    """Return the sentence that names a ``.env`` and what it chooses; None if it chooses nothing."""
    environment = settings.environment
    chosen = sorted(name for name in _CHOICES if environment.fallback.get(name) and not environment.exported.get(name))
    if environment.file is None or not chosen:
        return None
    return f"{environment.file.path} chooses {', '.join(chosen)}."
