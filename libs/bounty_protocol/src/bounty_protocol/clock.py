"""Time as a value that is passed in, so that tests own it."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

from bounty_protocol.types import UnixSeconds


class Clock(Protocol):
    """Where a part takes the time from."""

    def now(self) -> UnixSeconds:
        """Return whole seconds since 1970."""

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start; they never decrease."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> UnixSeconds:
        return UnixSeconds(int(time.time()))

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class ShiftedClock(SystemClock):
    """The machine's clock, as many seconds ahead as ``ahead`` answers: of a chain whose time somebody moves."""

    def __init__(self, ahead: Callable[[], int]) -> None:
        self._ahead = ahead

    def now(self) -> UnixSeconds:
        return UnixSeconds(super().now() + self._ahead())


def iso_utc(at: int) -> str:
    """Format a moment as ISO 8601 UTC, in whole seconds."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
