"""How many of a kind are in progress at a time, each kind with its own bound. Thread-safe."""

from collections import Counter
from collections.abc import Hashable
from contextlib import ExitStack
from threading import Condition


class AtWork:
    """Work in progress, counted by key."""

    def __init__(self) -> None:
        self._freed = Condition()
        self._counts = Counter[Hashable]()
        self._waiting = 0

    def begin(self, key: Hashable, most: int, places: ExitStack, *, amount: int = 1, patience: float = 0) -> bool:
        """Whether ``amount`` more of ``key`` may start, of at most ``most``; it is over when ``places`` ends.

        Where there is no place, it waits for up to ``patience`` seconds.
        """
        with self._freed:
            if self._counts[key] + amount > most and not (patience and self._wait(key, most - amount, patience)):
                return False
            self._counts[key] += amount
        places.callback(self._end, key, amount)
        return True

    def count(self, key: Hashable) -> int:
        """How many of ``key`` are in progress."""
        with self._freed:
            return self._counts[key]

    def _wait(self, key: Hashable, most: int, seconds: float) -> bool:
        self._waiting += 1
        try:
            return self._freed.wait_for(lambda: self._counts[key] <= most, seconds)
        finally:
            self._waiting -= 1

    def _end(self, key: Hashable, amount: int) -> None:
        with self._freed:
            self._counts[key] -= amount
            if not self._counts[key]:
                del self._counts[key]
            if self._waiting:
                self._freed.notify_all()
