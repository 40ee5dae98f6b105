"""Clocks that tests move."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from bounty_protocol.clock import SystemClock
from bounty_protocol.types import UnixSeconds


@dataclass
class HandClock:
    """Moves when it is told to."""

    time: float = 0.0

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


@dataclass
class HurriedClock:
    """This process's clock while ``in_place``: a pause takes no time and passes all the same, ``hurry`` times as long
    as it was asked for, so that a command that waits for an endpoint gives up at once.

    With ``at``, a moment since 1970, the time of day is that, and all time moves only with pauses and when a test moves
    it; ``passed`` is called after each pause.
    """

    at: float | None = None
    passed: Callable[[], None] = lambda: None
    hurry: float = 20.0
    _slept: float = field(default=0.0, init=False)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._slept += seconds
        if self.at is not None:
            self.at += seconds

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Be the clock of everything in this process."""
        monotonic, sleep = time.monotonic, time.sleep

        def pause(seconds: float) -> None:
            self.advance(self.hurry * seconds)
            self.passed()
            if self.at is None:  # servers of other threads go on meanwhile
                sleep(min(seconds, 0.001))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "sleep", pause)
            if self.at is None:
                patch.setattr(time, "monotonic", lambda: monotonic() + self._slept)
            else:
                began = monotonic()
                patch.setattr(time, "monotonic", lambda: began + self._slept)
                patch.setattr(time, "time", lambda: self.at)
            yield
