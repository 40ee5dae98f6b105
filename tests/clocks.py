"""Clocks that tests move."""

from service_common.clock import SystemClock


class StandingClock(SystemClock):
    """The machine's time of day; the seconds that windows are counted in stand until they are moved."""

    at = 100.0

    def monotonic(self) -> float:
        return self.at
