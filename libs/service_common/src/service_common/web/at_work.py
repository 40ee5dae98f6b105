"""How many of a kind are under way at a time, each kind with its own bound. Thread-safe."""

from collections import Counter
from collections.abc import Hashable
from contextlib import ExitStack
from threading import Lock


class AtWork:
    """What is under way, counted by key."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts = Counter[Hashable]()

    def begin(self, key: Hashable, most: int, places: ExitStack) -> bool:
        """Whether one more of ``key`` may begin, of at most ``most``; it is over when ``places`` ends."""
        with self._lock:
            if self._counts[key] >= most:
                return False
            self._counts[key] += 1
        places.callback(self._end, key)
        return True

    def _end(self, key: Hashable) -> None:
        with self._lock:
            self._counts[key] -= 1
            if not self._counts[key]:
                del self._counts[key]
