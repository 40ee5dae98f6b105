"""Clocks that tests move."""

from service_common.clock import SystemClock
from service_common.types import UnixSeconds


class HandClock:
    """Begins at 0 and moves when it is told to."""

    time = 0.0

    def now(self) -> UnixSeconds:
        return UnixSeconds(int(self.time))

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


class StandingClock(SystemClock):
    """The machine's time of day, but ``monotonic`` stands until a test moves it: what is kept or counted lasts."""

    at = 100.0

    def monotonic(self) -> float:
        return self.at
