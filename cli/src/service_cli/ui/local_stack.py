"""The local stack that a shell belongs to: it may have ended, with its files, while the shell is still open."""

import os
from pathlib import Path
from typing import Final

STACK_VARIABLE: Final = "SERVICE_LOCAL_STACK"
"""The environment file that a person's ``shell`` was started with, which goes when its stack ends."""


def ended_stack() -> str | None:
    """The next step where the stack of this shell has ended, or another one has taken its name; else None."""
    if not (named := os.environ.get(STACK_VARIABLE)):
        return None
    file = Path(named)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        text = ""
    if text and os.environ.get("SERVICE_RPC_URL", "") in text:
        return None
    first = "Another one runs: leave" if text else "Start it again with ./noxw -s stack. Then leave"
    return f"{first} this shell, and open one of the new stack: {file.with_suffix('')}/shell"
