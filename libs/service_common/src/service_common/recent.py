"""Values that stay true for a while, kept per process.

Nothing is returned at twice ``seconds`` of age or older. From ``seconds`` on, one caller makes a new value while the
others get the kept one. Of more values than ``limit``, or of more weight than ``most_weight``, the oldest are
forgotten; a failure to make a value is never kept. Thread-safe.
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

    def __init__(
        self,
        seconds: float,
        limit: int,
        clock: Clock,
        *,
        weigh: Callable[[V], int] = lambda _: 0,
        most_weight: int = 0,
    ) -> None:
        self._seconds, self._limit, self._clock = seconds, limit, clock
        self._weigh, self._most_weight = weigh, most_weight
        self._lock = Lock()
        self._kept: OrderedDict[K, tuple[float, V]] = OrderedDict()
        self._weight = 0
        self._making: set[K] = set()

    def young(self, key: K) -> V | None:
        """The kept value where nobody has to make a new one."""
        found = self._kept.get(key)
        if found is None:
            return None
        limit = self._seconds * (2 if key in self._making else 1)
        return found[1] if self._clock.monotonic() - found[0] < limit else None

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The kept value where it is young enough, else a new one."""
        found = self.young(key)
        if found is not None:
            return found
        with self._lock:
            found = self.young(key)  # another caller may be making it by now
            if found is not None:
                return found
            self._making.add(key)
        try:
            began = self._clock.monotonic()
            value = make()
            with self._lock:
                self._keep(key, began, value)
        finally:
            with self._lock:
                self._making.discard(key)
        return value

    def _keep(self, key: K, began: float, value: V) -> None:
        former = self._kept.pop(key, None)
        if former is not None:
            self._weight -= self._weigh(former[1])
        self._kept[key] = (began, value)
        self._weight += self._weigh(value)
        while len(self._kept) > self._limit or self._weight > self._most_weight:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._weight -= self._weigh(oldest)
