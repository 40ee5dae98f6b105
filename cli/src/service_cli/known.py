"""Bounties that this machine knows by the names of its journals (``chain/journal``); for completion."""

import os
import re
from pathlib import Path
from typing import Final

from bounty_protocol.chain.deployment import NETWORKS, deployment_of, parse_network
from bounty_protocol.types import parse_address

from service_cli.disk import open_regular, state_directory
from service_cli.errors import CommandRefused

_OF_BOUNTIES: Final = {"submit", "verdict", "claim", "claimfee", "opened", "winning"}
"""Pieces of work whose second name is a bounty."""
_MOST: Final = 65_536
"""Bytes that are read of a ``.env``."""


def known_bounties() -> list[str]:
    """The bounties at this Hub that any work of this machine is about, the newest first; none where nothing can be
    read."""
    found: set[str] = set()
    try:
        for folder in state_directory().glob(f"{_hub()}/*"):
            kind, _, rest = folder.name.partition("-")
            if kind in _OF_BOUNTIES:
                found.add(rest.partition("-")[0])
            elif kind == "file":  # what was funded from a file
                found.add(folder.name.rpartition("-")[2])
    except (OSError, ValueError, CommandRefused):
        return []
    return sorted((each for each in found if each.isascii() and each.isdigit()), key=int, reverse=True)


def _hub() -> str:
    """The folder of the Hub that a command would work on, as a pattern: any where nothing names one."""
    named = _value("SERVICE_CHAIN_ID")
    record = deployment_of(parse_network(named) if named else NETWORKS["mainnet"])
    hub = _value("SERVICE_HUB_ADDRESS") or (record.hub_address if record else None)
    return "*-0x*" if hub is None else f"*-{parse_address(hub)}"


def _value(name: str) -> str | None:
    """What is exported, else what a plain line of the ``.env`` here sets: enough to offer a number by."""
    if exported := os.environ.get(name):
        return exported
    try:
        with open_regular(Path(".env")) as file:
            text = file.read(_MOST).decode("utf-8", "replace")
    except OSError:
        return None
    found = re.findall(rf"^{name}=['\"]?(\w+)['\"]?\s*$", text, re.MULTILINE)
    return found[-1] if found else None
