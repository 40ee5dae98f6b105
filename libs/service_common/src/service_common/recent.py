"""Values that stay true for a while, kept per process.

Promises: nothing is handed out at twice ``seconds`` of age or older; from ``seconds`` on, one caller makes the value
anew while the others get the kept one; at most ``limit`` values are kept; a failure to make a value is never kept.
Thread-safe.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

from service_common.clock import Clock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Values by key, each with the moment before it was made."""

    def __init__(self, seconds: float, limit: int) -> None:
        self._seconds, self._limit = seconds, limit
        self._lock = Lock()
        self._kept: OrderedDict[K, tuple[float, V]] = OrderedDict()
        self._making: set[K] = set()

    def get(self, key: K, clock: Clock, make: Callable[[], V]) -> V:
        """The kept value where it is young enough, else a new one."""
        now = clock.monotonic()
        found = self._kept.get(key)
        if found is not None and not self._is_due(key, now - found[0]):
            return found[1]
        try:
            value = make()
            with self._lock:
                self._kept.pop(key, None)
                self._kept[key] = (now, value)
                while len(self._kept) > self._limit:
                    self._kept.popitem(last=False)
        finally:
            with self._lock:
                self._making.discard(key)
        return value

    def _is_due(self, key: K, age: float) -> bool:
        """Whether this caller has to make the value anew."""
        if age < self._seconds:
            return False
        with self._lock:
            being_made = key in self._making
            self._making.add(key)
        return not being_made or age >= 2 * self._seconds
