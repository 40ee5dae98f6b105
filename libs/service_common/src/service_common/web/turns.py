"""Few work at a time, and of those who wait the one comes next who has used the least.

Public reads cost processor time, and the threads of an interpreter share one processor: of many that compute at once,
each takes as long as all of them together. So few compute at a time, and the others wait in the order of what their
network addresses have used of their budget: somebody who reads a page now and then comes before any number of addresses
that read without end. Thread-safe.
"""

import heapq
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from threading import Event, Lock


class Turns:
    """At most ``at_once`` turns at a time; who waits for one longer than ``patience`` seconds gets none."""

    def __init__(self, at_once: int, patience: float) -> None:
        self._at_once, self._patience = at_once, patience
        self._lock = Lock()
        self._taken = 0
        self._waiting: list[tuple[int, int, Event]] = []
        self._numbers = count()

    @contextmanager
    def turn(self, used: int) -> Iterator[bool]:
        """Wait for a turn behind all who have used less; whether there was one."""
        called = self._begin(used)
        has_turn = called is None or called.wait(self._patience) or not self._give_up(called)
        try:
            yield has_turn
        finally:
            if has_turn:
                self._end()

    def _begin(self, used: int) -> Event | None:
        """Take a turn, or what is set once there is one."""
        with self._lock:
            if self._taken < self._at_once:
                self._taken += 1
                return None
            called = Event()
            heapq.heappush(self._waiting, (used, next(self._numbers), called))
            return called

    def _give_up(self, called: Event) -> bool:
        """Leave the queue; False where the turn came just now."""
        with self._lock:
            if called.is_set():
                return False
            called.set()  # who comes to it in the queue passes it over
            return True

    def _end(self) -> None:
        """Give the turn to the next one who still waits."""
        with self._lock:
            while self._waiting:
                _, _, following = heapq.heappop(self._waiting)
                if not following.is_set():
                    following.set()
                    return
            self._taken -= 1
