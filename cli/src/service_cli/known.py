"""Bounties that this machine knows by the names of its journals (``chain/journal``); for completion."""

from typing import Final

from service_cli.disk import state_directory
from service_cli.errors import CommandRefused

_OF_BOUNTIES: Final = {"submit", "verdict", "claim", "claimfee", "opened", "winning"}
"""Pieces of work whose second name is a bounty."""


def known_bounties() -> list[str]:
    """The bounties that any work of this machine is about, the newest first; none where nothing can be read."""
    found: set[str] = set()
    try:
        for folder in state_directory().glob("*-0x*/*"):
            kind, _, rest = folder.name.partition("-")
            if kind in _OF_BOUNTIES:
                found.add(rest.partition("-")[0])
            elif kind == "file":  # what was funded from a file
                found.add(folder.name.rpartition("-")[2])
    except (OSError, CommandRefused):
        return []
    return sorted((each for each in found if each.isascii() and each.isdigit()), key=int, reverse=True)
