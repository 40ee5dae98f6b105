"""The clock of a beacon whose chain somebody moves ahead of this machine's time."""

from pathlib import Path

from bounty_protocol.clock import SystemClock
from bounty_protocol.types import UnixSeconds


class AheadClock(SystemClock):
    """This machine's time of day and the seconds that a file holds; the file may come, change and go."""

    def __init__(self, ahead: Path) -> None:
        self._ahead = ahead

    def now(self) -> UnixSeconds:
        try:
            seconds = int(self._ahead.read_text(encoding="ascii"))
        except FileNotFoundError:
            seconds = 0
        return UnixSeconds(super().now() + seconds)
