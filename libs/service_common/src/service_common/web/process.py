"""Settings of the interpreter and the C library for a process that answers requests.

Most of it is about the answers that others wait for: a long computation, a collection of garbage or a burst of large
bodies in one thread is felt by every request of the process.
"""

import ctypes
import gc
import sys
from typing import Final

SWITCH_SECONDS: Final = 0.0005
"""How long a thread that computes keeps the interpreter from one that has only waited for its database. With the usual
five milliseconds, one that parses a page makes each of the short steps of all other requests so long."""
_COLLECTIONS: Final = (5_000, 10, 20)
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
_LARGE_BYTES: Final = 64 * 1024
_ARENAS: Final = 2


def prepare_process() -> None:
    """Prepare the main thread of each worker; call it before anything large is made."""
    sys.setswitchinterval(SWITCH_SECONDS)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        # What is large goes back to the system when it is freed, and the many threads share few pools of the rest: else
        # a burst of the longest bodies stays in memory for good.
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
        mallopt(_M_ARENA_MAX, _ARENAS)


def freeze_start() -> None:
    """Exclude existing objects from collections; call it once all permanent objects are made.

    A full collection of the objects made at the start takes a tenth of a second, in which no request proceeds, and
    finds nothing. Later collections are rarer than usual, since every request waits for them.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTIONS)
