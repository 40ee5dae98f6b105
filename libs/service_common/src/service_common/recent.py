"""A cache with a time to live, for one process.

Nothing that is kept is returned at twice ``seconds`` of age or older. From ``seconds`` on, one caller makes a new value
while the others get the kept one; where there is none, they wait for what that caller makes, unless it began twice
``seconds`` ago. So a value is made at most once in ``seconds``, unless that fails: a failure is its caller's alone, and
the others make it themselves. Of more values than ``limit``, or of more weight than ``most_weight``, the oldest are
forgotten. Thread-safe.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

from bounty_protocol.clock import Clock

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
        self._making: dict[K, tuple[float, Future[V]]] = {}

    def young(self, key: K) -> V | None:
        """The kept value where nobody has to make a new one."""
        found = self._kept.get(key)
        if found is None:
            return None
        limit = self._seconds * (2 if key in self._making else 1)
        return found[1] if self._clock.monotonic() - found[0] < limit else None

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The kept value where it is young enough, else a new one; ``make`` asks for no value of the same key."""
        found = self.young(key)
        if found is not None:
            return found
        with self._lock:
            found = self.young(key)  # another caller may be making it by now
            if found is not None:
                return found
            now, making = self._clock.monotonic(), self._making.get(key)
            is_mine = making is None or now - making[0] >= 2 * self._seconds
            if making is None or is_mine:
                making = self._making[key] = now, Future()
        if not is_mine and making[1].exception() is not None:  # once it is made: it may be the other's own failure
            making, is_mine = (self._clock.monotonic(), Future()), True
        if is_mine:
            self._make(key, *making, make)
        return making[1].result()

    def _make(self, key: K, began: float, made: Future[V], make: Callable[[], V]) -> None:
        try:
            made.set_result(make())
        except BaseException as error:  # noqa: BLE001  # whatever it is, nobody waits any longer
            made.set_exception(error)
        with self._lock:
            if made.exception() is None:
                self._keep(key, began, made.result())
            if self._making.get(key) == (began, made):  # no other has begun meanwhile
                del self._making[key]

    def _keep(self, key: K, began: float, value: V) -> None:
        former = self._kept.pop(key, None)
        if former is not None and former[0] > began:  # of a caller that began later, and was faster
            began, value = former
        if former is not None:
            self._weight -= self._weigh(former[1])
        self._kept[key] = (began, value)
        self._weight += self._weigh(value)
        while len(self._kept) > self._limit or self._weight > self._most_weight:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._weight -= self._weigh(oldest)
