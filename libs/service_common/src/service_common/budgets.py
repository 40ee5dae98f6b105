"""How much one stranger may ask for: counts by name, each over a window of time.

Promises: a budget that is used up costs its holder a wait, and nobody else anything; counts take a bounded place,
whoever sends how much. A count is kept in this process, or in Redis where the budget is ``shared`` by all processes of
a deployment; while Redis does not answer, shared budgets are counted in each process. Losing a count loses no fact.
Thread-safe.
"""

import math
import re
import time
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Final

from limits import RateLimitItem, RateLimitItemPerSecond
from limits.storage import RedisStorage, Storage
from limits.strategies import FixedWindowRateLimiter, RateLimiter, SlidingWindowCounterRateLimiter
from redis import Redis
from redis.exceptions import RedisError

from service_common.clock import Clock
from service_common.log import get_logger

MAX_COUNTS: Final = 65_536
"""Counts in one process; of more, those that were asked for the longest ago begin anew."""
AWAY_SECONDS: Final = 5.0
"""For how long Redis is not asked again after it did not answer."""
_TEXT: Final = re.compile(r"([1-9][0-9]{0,8})/([1-9][0-9]{0,5})")

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Budget:
    """``amount`` in any ``seconds``, for each holder; ``name`` is what the RateLimit fields of an answer call it."""

    name: str
    amount: int
    seconds: int
    shared: bool = False


def parse_budget(text: str) -> tuple[int, int]:
    """``600/60``: an amount, and the seconds of its window."""
    if (found := _TEXT.fullmatch(text)) is None:
        raise ValueError("an amount and the seconds it is for, such as 600/60")
    return int(found[1]), int(found[2])


@dataclass(frozen=True, slots=True)
class Standing:
    """A budget after one was asked for: whether it was granted, what is left, and the seconds until there is more."""

    budget: Budget
    granted: bool
    left: int
    seconds: int

    def field(self) -> str:
        """Its item of the field ``RateLimit``."""
        return f'"{self.budget.name}";r={self.left};t={self.seconds}'

    def policy(self) -> str:
        """Its item of the field ``RateLimit-Policy``."""
        return f'"{self.budget.name}";q={self.budget.amount};w={self.budget.seconds}'


class Budgets:
    """The counts of one process, and those it shares."""

    def __init__(self, clock: Clock, redis: Redis | None = None) -> None:
        self._clock = clock
        self._own = FixedWindowRateLimiter(_Counts(clock))
        self._shared = (
            SlidingWindowCounterRateLimiter(RedisStorage("redis://", connection_pool=redis.connection_pool))
            if redis is not None
            else None
        )
        self._away_until = float("-inf")

    def take(self, budget: Budget, holder: str, cost: int = 1) -> Standing:
        """Take from the holder's budget; where it is not granted, a shared budget has lost nothing."""
        return self._ask(budget, holder, cost)

    def look(self, budget: Budget, holder: str) -> Standing:
        """How the holder's budget stands; ``granted`` says whether there is anything left."""
        return self._ask(budget, holder, 0)

    def _ask(self, budget: Budget, holder: str, cost: int) -> Standing:
        if budget.shared and self._shared is not None and self._clock.monotonic() >= self._away_until:
            try:
                return _ask(self._shared, budget, holder, cost)
            except RedisError as error:
                self._away_until = self._clock.monotonic() + AWAY_SECONDS
                log.warning("shared budgets are counted in this process", reason=type(error).__name__)
        return _ask(self._own, budget, holder, cost)


def _ask(limiter: RateLimiter, budget: Budget, holder: str, cost: int) -> Standing:
    item = _item(budget)
    granted = limiter.hit(item, holder, cost=cost) if cost else True
    reset_at, left = limiter.get_window_stats(item, holder)
    seconds = max(1, math.ceil(reset_at - time.time()))
    return Standing(budget, granted and (left > 0 or cost > 0), left if granted else 0, seconds)


@lru_cache(maxsize=256)
def _item(budget: Budget) -> RateLimitItem:
    return RateLimitItemPerSecond(budget.amount, budget.seconds, namespace=f"budget:{budget.name}")


class _Counts(Storage):
    """Counts of this process, at most ``MAX_COUNTS``: the library's own keeps any number and looks through all."""

    STORAGE_SCHEME = None

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._lock = Lock()
        self._kept: OrderedDict[str, tuple[int, float]] = OrderedDict()

    @property
    def base_exceptions(self) -> type[Exception]:
        return ValueError

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        with self._lock:
            now = self._clock.monotonic()
            count, ends = self._kept.pop(key, (0, now))
            if ends <= now:
                count, ends = 0, now + expiry
            self._kept[key] = (count + amount, ends)
            if len(self._kept) > MAX_COUNTS:
                self._kept.popitem(last=False)
            return count + amount

    def get(self, key: str) -> int:
        count, ends = self._kept.get(key, (0, 0.0))
        return count if ends > self._clock.monotonic() else 0

    def get_expiry(self, key: str) -> float:
        """The moment when the window of this count ends, by the machine's clock."""
        _, ends = self._kept.get(key, (0, 0.0))
        return time.time() + max(0.0, ends - self._clock.monotonic())

    def check(self) -> bool:
        return True

    def reset(self) -> int:
        with self._lock:
            count = len(self._kept)
            self._kept.clear()
            return count

    def clear(self, key: str) -> None:
        with self._lock:
            self._kept.pop(key, None)
