"""Few work at a time, and of those who wait the one comes next who has used the least.

Public reads cost processor time, and the threads of an interpreter share one processor: of many that compute at once,
each takes as long as all of them together. So few compute at a time, and the others wait in the order of what their
network addresses have used of their budget: somebody who reads a page now and then comes before any number of addresses
that read without end. Thread-safe.
"""

import heapq
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from threading import Event, Lock


class Turns:
    """At most ``at_once`` turns at a time; who waits for one longer than ``patience`` seconds gets none."""

    def __init__(self, at_once: int, patience: float) -> None:
        self._at_once, self._patience = at_once, patience
        self._lock = Lock()
        self._taken = 0
        self._waiting: list[_Place] = []
        self._numbers = count()

    @contextmanager
    def turn(self, used: int) -> Iterator[bool]:
        """Wait for a turn behind all who have used less; whether there was one."""
        place = self._begin(used)
        has_turn = place is None or place.called.wait(self._patience) or not self._give_up(place)
        try:
            yield has_turn
        finally:
            if has_turn:
                self._end()

    def waiting(self) -> int:
        """How many wait now."""
        return len(self._waiting)

    def _begin(self, used: int) -> "_Place | None":
        """Take a turn, or a place in the queue for one."""
        with self._lock:
            if self._taken < self._at_once:
                self._taken += 1
                return None
            place = _Place(used, next(self._numbers))
            heapq.heappush(self._waiting, place)
            return place

    def _give_up(self, place: "_Place") -> bool:
        """Leave the queue; False where the turn came just now."""
        with self._lock:
            if place.called.is_set():
                return False
            self._waiting.remove(place)  # else all who gave up stay below those who come first, as long as some wait
            heapq.heapify(self._waiting)
            return True

    def _end(self) -> None:
        """Give the turn to the next one who waits."""
        with self._lock:
            if self._waiting:
                heapq.heappop(self._waiting).called.set()
            else:
                self._taken -= 1


@dataclass(order=True, slots=True)
class _Place:
    """In the queue: behind all who have used less or came before with as much. ``called`` once there is a turn."""

    used: int
    number: int
    called: Event = field(default_factory=Event, compare=False)
