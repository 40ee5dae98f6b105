"""What is known of a collector that takes no spans, shared by a process and the children it forks.

Promises: however many children find out, it is logged once in ``SILENT_SECONDS``; a child that ends waits for its last
spans only where none of its siblings found the collector away in the last ``AVOID_SECONDS``.
"""

import mmap
import struct
import time
from collections.abc import Callable
from typing import Final

from service_common.log import get_logger

SILENT_SECONDS: Final = 60.0
AVOID_SECONDS: Final = 10.0
_FORMAT: Final = struct.Struct("dd")

log = get_logger(__name__)


class Outage:
    """Two moments in memory that survives a fork; a write that is lost costs one line or one wait."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._memory = mmap.mmap(-1, _FORMAT.size)
        _FORMAT.pack_into(self._memory, 0, float("-inf"), float("-inf"))

    def began(self, reason: str) -> None:
        """Spans were dropped, for a reason that holds no address."""
        now, (_, said) = self._monotonic(), _FORMAT.unpack_from(self._memory)
        if now - said >= SILENT_SECONDS:
            said = now
            log.warning("the collector takes no spans; they are dropped", reason=reason)
        _FORMAT.pack_into(self._memory, 0, now, said)

    def ended(self) -> None:
        """The collector took spans."""
        _, said = _FORMAT.unpack_from(self._memory)
        _FORMAT.pack_into(self._memory, 0, float("-inf"), said)

    def lasts(self) -> bool:
        """Whether waiting for the collector is in vain at the moment."""
        seen, _ = _FORMAT.unpack_from(self._memory)
        return bool(self._monotonic() - seen < AVOID_SECONDS)
