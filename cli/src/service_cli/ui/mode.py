"""How a run prints: JSON lines for programs or text for people.

The first of these chooses: ``--json``, ``--text``, the exported ``SERVICE_OUTPUT``; else JSON. A ``.env`` cannot set
it, since somebody else may have written the file. A malformed choice is refused before anything is done.
"""

import os
from enum import StrEnum
from typing import Final

from service_cli.errors import CommandRefused

OUTPUT_VARIABLE: Final = "SERVICE_OUTPUT"


class Mode(StrEnum):
    """The form of stdout."""

    JSON = "json"
    TEXT = "text"


def chosen_mode(*, text: bool, json: bool) -> Mode:
    """The output form of this run; ``configuration_malformed`` where what chooses it is neither text nor JSON."""
    if json:
        return Mode.JSON
    if text:
        return Mode.TEXT
    value = os.environ.get(OUTPUT_VARIABLE) or Mode.JSON
    for mode in Mode:
        if mode.value == value:
            return mode
    message = f"{OUTPUT_VARIABLE} is neither text nor json."
    raise CommandRefused("configuration_malformed", message, next_action=f"Set {OUTPUT_VARIABLE} to one of the two.")
