"""A question before real money moves.

Promises: asked only on the mainnet deployment, only of a person at a terminal, never where ``--yes`` was given and
never where stdin is not a terminal: a script is not stopped by a question nobody can answer.
"""

import sys
from typing import Final

from service_cli.outcome import Refused
from service_cli.output import warn
from service_cli.settings import Settings

_MAINNET: Final = 8453


def confirm(settings: Settings, what: str, *, yes: bool) -> None:
    """Go on only with consent."""
    if yes or settings.chain_id != _MAINNET or not sys.stdin.isatty():
        return
    warn(f"about to {what} on mainnet: real money. Type yes to go on.")
    if sys.stdin.readline().strip() != "yes":
        raise Refused("not_confirmed", "Nothing was signed.", next_action="Run it again and type yes, or add --yes.")
