"""Signals to stop, remembered instead of raised wherever they strike.

After ``Interrupts()`` SIGINT, SIGTERM and SIGHUP change nothing until ``checkpoint`` is called; what runs is never cut
in two.
"""

import signal
from types import FrameType


class Interrupted(BaseException):
    """A signal to stop came. Raised only where the stack looks for it, so that no step is cut in two."""


class Interrupts:
    """Remembers that a signal came; the stack checks between its steps and in every wait."""

    def __init__(self) -> None:
        self.received: int | None = None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._remember)

    def checkpoint(self) -> None:
        """Raise ``Interrupted`` once a signal came."""
        if self.received is not None:
            raise Interrupted

    def _remember(self, number: int, _frame: FrameType | None) -> None:
        self.received = number
