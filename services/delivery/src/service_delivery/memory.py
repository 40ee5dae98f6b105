"""Keeping the keys in this process: no other process can read its memory, and no crash writes it to a disk.

After ``keep_memory_private`` other processes of the same user can neither attach to this one nor read its memory, and
it leaves no core file. Linux only; elsewhere the process does not start.
"""

import ctypes
import resource
from typing import Final

_PR_SET_DUMPABLE: Final = 4


def keep_memory_private() -> None:
    """Call this in each process that holds a key: a fork inherits it, a new program does not."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
