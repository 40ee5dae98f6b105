"""The local stack that a shell belongs to: it may have ended, with its files, while the shell is still open."""

import os
from pathlib import Path
from typing import Final

STACK_VARIABLE: Final = "SERVICE_LOCAL_STACK"
"""The environment file that a person's ``shell`` was started with, which goes when its stack ends."""


def ended_stack() -> str | None:
    """The next step where the stack of this shell has ended; else None."""
    if not (named := os.environ.get(STACK_VARIABLE)):
        return None
    file = Path(named)
    if file.exists():
        return None
    shell = f"{file.with_suffix('')}/shell"
    return f"Start it again with ./noxw -s stack. Then leave this shell, and open one of the new stack: {shell}"
