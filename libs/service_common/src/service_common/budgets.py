"""How much one caller may use: counts by name, each over a window of time.

A budget that is used up makes its holder wait, and nobody else. A count is kept in this process over a fixed window,
or, where the budget is ``shared`` by all processes of a deployment, in Redis over a sliding one; while Redis does not
answer, shared budgets are counted in each process. What was refused is not counted. The counts of a process take
bounded memory, independent of what is sent. Losing a count loses no fact. Thread-safe.
"""

import math
import re
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock
from typing import Final

from bounty_protocol.clock import Clock
from limits import RateLimitItem, RateLimitItemPerSecond
from limits.storage import RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from redis import Redis
from redis.exceptions import RedisError

from service_common.log import get_logger

MAX_COUNTS: Final = 65_536
"""Counts in one process; of more, the least recently used restart at zero."""
AWAY_SECONDS: Final = 5.0
"""For how long Redis is not queried again after it did not answer."""
_TEXT: Final = re.compile(r"([1-9][0-9]{0,8})/([1-9][0-9]{0,5})")

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Budget:
    """``amount`` in ``seconds``, for each holder; ``name`` is what the RateLimit fields of an answer call it.

    Counts begin with a window, so that two windows that meet hold up to twice the amount in any ``seconds``.
    """

    name: str
    amount: int
    seconds: int
    shared: bool = False

    @lru_cache(maxsize=256)  # noqa: B019  # budgets are few, and last as long as the process
    def times(self, factor: int, suffix: str) -> "Budget":
        """A larger one that is counted apart, under its own name."""
        return replace(self, name=self.name + suffix, amount=self.amount * factor)


def parse_budget(text: str) -> tuple[int, int]:
    """``600/60``: an amount, and the seconds of its window."""
    if (found := _TEXT.fullmatch(text)) is None:
        raise ValueError("an amount and the seconds it is for, such as 600/60")
    return int(found[1]), int(found[2])


@dataclass(frozen=True, slots=True)
class BudgetState:
    """A budget after a request: whether it was granted, what is left, and the seconds until there is more."""

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
        self._own = _Counts(clock)
        self._shared = (
            SlidingWindowCounterRateLimiter(RedisStorage("redis://", connection_pool=redis.connection_pool))
            if redis is not None
            else None
        )
        self._away_until = float("-inf")

    def take(self, budget: Budget, holder: str, cost: int = 1) -> BudgetState:
        """Take from the holder's budget; where it is not granted, nothing was taken."""
        return self._ask(budget, holder, cost)

    def spend(self, budget: Budget, holder: str, cost: int) -> BudgetState:
        """Take what was used already: all of ``cost``, or what is left."""
        taken = self.take(budget, holder, cost)
        if taken.granted:
            return taken
        left = self.look(budget, holder).left
        return self.take(budget, holder, left) if left else taken

    def look(self, budget: Budget, holder: str) -> BudgetState:
        """The rest of the holder's budget; ``granted`` is whether there is anything."""
        return self._ask(budget, holder, 0)

    def _ask(self, budget: Budget, holder: str, cost: int) -> BudgetState:
        if budget.shared and self._shared is not None and self._clock.monotonic() >= self._away_until:
            try:
                return _ask_redis(self._shared, budget, holder, cost)
            except RedisError as error:
                self._away_until = self._clock.monotonic() + AWAY_SECONDS
                log.warning("shared budgets are counted in this process", reason=type(error).__name__)
        return self._own.ask(budget, holder, cost)


def _ask_redis(limiter: SlidingWindowCounterRateLimiter, budget: Budget, holder: str, cost: int) -> BudgetState:
    item = _item(budget)
    granted = limiter.hit(item, holder, cost=cost) if cost else True
    reset_at, left = limiter.get_window_stats(item, holder)
    seconds = max(1, math.ceil(reset_at - time.time()))
    return BudgetState(budget, granted and (left > 0 or cost > 0), left if granted else 0, seconds)


@lru_cache(maxsize=256)
def _item(budget: Budget) -> RateLimitItem:
    return RateLimitItemPerSecond(budget.amount, budget.seconds, namespace=f"budget:{budget.name}")


class _Counts:
    """Counts of this process, at most ``MAX_COUNTS``: every request uses some, and the library's own store keeps any
    number and looks through all of them repeatedly."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._kept: OrderedDict[tuple[str, str], tuple[int, float]] = OrderedDict()
        """The amounts taken, and when each window ends; the least recently used comes first."""

    def ask(self, budget: Budget, holder: str, cost: int) -> BudgetState:
        """Take ``cost`` where so much is left; with 0, look."""
        key, now = (budget.name, holder), self._clock.monotonic()
        with self._lock:
            taken, ends = self._kept.pop(key, (0, now))
            if ends <= now:
                taken, ends = 0, now + budget.seconds
            granted = taken + (cost or 1) <= budget.amount
            if granted:
                taken += cost
            if taken:
                self._kept[key] = taken, ends
                if len(self._kept) > MAX_COUNTS:
                    self._kept.popitem(last=False)
        left = budget.amount - taken if granted else 0
        return BudgetState(budget, granted, left, max(1, math.ceil(ends - now)))
