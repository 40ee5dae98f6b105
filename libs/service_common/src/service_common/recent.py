"""A cache with a time to live, for one process.

Nothing that is kept is returned at twice ``seconds`` of age or older. From ``seconds`` on, one caller makes a new value
while the others get the kept one; where there is none, they wait for what that caller makes, for a moment at most. A
failure is its caller's alone, and the others make it themselves. Of more values than ``limit`` the oldest are
forgotten. Thread-safe.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Final, Generic, TypeVar

from bounty_protocol.clock import Clock

PATIENCE_SECONDS: Final = 2.0
"""For how long a caller waits for what another one makes."""
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class _Kept(Generic[V]):
    """A value and the moment before it was made; the lock is held by the caller who makes the next one."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.made: tuple[float, V] | None = None


class Recent(Generic[K, V]):
    """Values by key."""

    def __init__(self, seconds: float, limit: int, clock: Clock) -> None:
        self._seconds, self._limit, self._clock = seconds, limit, clock
        self._lock = Lock()
        self._kept: OrderedDict[K, _Kept[V]] = OrderedDict()

    def young(self, key: K) -> V | None:
        """Return the cached value if it is young enough; None otherwise."""
        kept = self._kept.get(key)
        return None if kept is None else self._value(kept, 2 if kept.lock.locked() else 1)

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the cached value if it is young enough, else a new one; ``make`` may not request the same key."""
        with self._lock:
            kept = self._kept.setdefault(key, _Kept())
            if len(self._kept) > self._limit:
                self._kept.popitem(last=False)
        if (found := self._value(kept, 1)) is not None:
            return found
        old = self._value(kept, 2)
        is_held = kept.lock.acquire(timeout=PATIENCE_SECONDS if old is None else 0)
        if not is_held and old is not None:
            return old
        try:
            if (found := self._value(kept, 1)) is not None:  # another caller made it meanwhile
                return found
            began, value = self._clock.monotonic(), make()
            if kept.made is None or kept.made[0] <= began:  # else one that began later was faster
                kept.made = began, value
            return value
        finally:
            if is_held:
                kept.lock.release()

    def _value(self, kept: _Kept[V], times: int) -> V | None:
        made = kept.made
        return None if made is None or self._clock.monotonic() - made[0] >= times * self._seconds else made[1]
