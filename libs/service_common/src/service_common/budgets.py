"""How much one caller may use: counts by name, each over a window of time, and facts that are forgotten after a while.

A budget that is used up makes its holder wait, and nobody else. A count is kept in this process over a fixed window,
or, where the budget is ``shared`` by all processes of a deployment, in Redis over a sliding one; while Redis does not
answer, shared budgets are counted in each process. What was refused is not counted. The counts of a process take
bounded memory, independent of what is sent. Losing a count loses no fact. Thread-safe.

A network is an IPv4 address, or the /64 that one subscriber has in IPv6. In IPv6 one site often has a whole /48, which
may use sixteen times as much as one /64.
"""

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock
from typing import Final, TypeVar

from bounty_protocol.clock import Clock
from limits import RateLimitItemPerSecond
from limits.storage import RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from redis import Redis
from redis.exceptions import RedisError

from service_common.log import get_logger

MAX_COUNTS: Final = 65_536
"""Counts in one process, and facts; of more, the least recently used are forgotten."""
SITE_SHARE: Final = 16
"""How many times what one /64 of IPv6 may use the /48 around it may use."""
AWAY_SECONDS: Final = 5.0
"""For how long Redis is not queried again after it did not answer."""

T = TypeVar("T")
log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Network:
    """Where a request comes from: an IPv4 address, or a /64 of IPv6 with the /48 around it as its ``site``."""

    name: str
    site: str | None = None

    @property
    def widest(self) -> str:
        """The name of the largest network that counts as one."""
        return self.site or self.name


@lru_cache(maxsize=4_096)
def network_of(address: str) -> Network:
    """Return the network of an address; ``unknown`` for an invalid address. The result is cached: naming a /64 takes
    0.1 ms, at every request.
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return Network("unknown")
    if not isinstance(found, ipaddress.IPv6Address):
        return Network(str(found))
    if found.ipv4_mapped is not None:
        return Network(str(found.ipv4_mapped))
    subscriber, site = (ipaddress.ip_network((found, length), strict=False) for length in (64, 48))
    return Network(str(subscriber), str(site))


@dataclass(frozen=True, slots=True)
class Budget:
    """``amount`` in ``seconds``, for each holder; ``name`` is what a refusal calls it.

    Counts begin with a window, so that two windows that meet hold up to twice the amount in any ``seconds``.
    """

    name: str
    amount: int
    seconds: int
    shared: bool = False

    def of_site(self) -> "Budget":
        """Return the larger budget of a /48, counted apart under its own name."""
        return replace(self, name=f"{self.name}/48", amount=self.amount * SITE_SHARE)


@dataclass(frozen=True, slots=True)
class BudgetState:
    """A budget after a request: whether it was granted, what is left, and the seconds until there is more."""

    budget: Budget
    granted: bool
    left: int
    seconds: int


class Budgets:
    """The counts of one process, and those it shares."""

    def __init__(self, clock: Clock, redis: Redis | None = None) -> None:
        self._clock, self._redis = clock, redis
        self._own = _Counts(clock)
        self._facts = _Facts(clock)
        self._shared = (
            SlidingWindowCounterRateLimiter(RedisStorage("redis://", connection_pool=redis.connection_pool))
            if redis is not None
            else None
        )
        self._away_until = float("-inf")

    def take(self, budget: Budget, holder: str, cost: int = 1) -> BudgetState:
        """Take from the holder's budget; if not granted, nothing is taken. With 0, ``granted`` says whether anything is
        left.
        """
        limiter = self._shared
        if budget.shared and limiter is not None:
            found = self._of_redis(lambda _: _ask_redis(limiter, budget, holder, cost))
            if found is not None:
                return found
        return self._own.ask(budget, holder, cost)

    def take_of(self, network: Network, budget: Budget, cost: int = 1) -> BudgetState:
        """Take from a network's budget, then from that of its site; return the state of the one that decided."""
        own = self.take(budget, network.name, cost)
        if own.granted and network.site is not None:
            wider = self.take(budget.of_site(), network.site, cost)
            return own if wider.granted else wider
        return own

    def spend_of(self, network: Network, budget: Budget, cost: int) -> None:
        """Charge what a network has already used: all of ``cost``, or what is left."""
        if network.site is not None:
            self._spend(budget.of_site(), network.site, cost)
        self._spend(budget, network.name, cost)

    def remember(self, fact: str, seconds: int) -> None:
        """Remember a fact for a while: in this process, and in the others by Redis."""
        self._facts.note(fact, seconds)
        self._of_redis(lambda redis: redis.set(f"remembered:{fact}", 1, ex=seconds))

    def remembers(self, fact: str) -> bool:
        """Return whether the fact is still remembered; False if only Redis knew it and does not answer."""
        return self._facts.has(fact) or bool(self._of_redis(lambda redis: redis.exists(f"remembered:{fact}")))

    def _spend(self, budget: Budget, holder: str, cost: int) -> None:
        if not self.take(budget, holder, cost).granted and (left := self.take(budget, holder, 0).left):
            self.take(budget, holder, left)

    def _of_redis(self, call: Callable[[Redis], T]) -> T | None:
        """Return the answer of Redis; None if it does not answer."""
        if self._redis is None or self._clock.monotonic() < self._away_until:
            return None
        try:
            return call(self._redis)
        except RedisError as error:
            self._away_until = self._clock.monotonic() + AWAY_SECONDS
            log.warning("shared budgets are counted in this process", reason=type(error).__name__)
            return None


def _ask_redis(limiter: SlidingWindowCounterRateLimiter, budget: Budget, holder: str, cost: int) -> BudgetState:
    item = RateLimitItemPerSecond(budget.amount, budget.seconds, namespace=f"budget:{budget.name}")
    granted = limiter.hit(item, holder, cost=cost) if cost else True
    reset_at, left = limiter.get_window_stats(item, holder)
    seconds = max(1, math.ceil(reset_at - time.time()))
    return BudgetState(budget, granted and (left > 0 or cost > 0), left if granted else 0, seconds)


class _Counts:
    """Counts of this process, at most ``MAX_COUNTS``: every request uses some, and the library's own store keeps any
    number and looks through all of them repeatedly."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._kept: OrderedDict[tuple[str, str], tuple[int, float]] = OrderedDict()
        """The amounts taken, and when each window ends; the least recently used comes first."""

    def ask(self, budget: Budget, holder: str, cost: int) -> BudgetState:
        """Take ``cost`` if that much is left; with 0, only read."""
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


class _Facts:
    """What this process knows for a while, at most ``MAX_COUNTS``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._until: OrderedDict[str, float] = OrderedDict()

    def note(self, fact: str, seconds: int) -> None:
        with self._lock:
            self._until.pop(fact, None)
            self._until[fact] = self._clock.monotonic() + seconds
            if len(self._until) > MAX_COUNTS:
                self._until.popitem(last=False)

    def has(self, fact: str) -> bool:
        return self._until.get(fact, float("-inf")) > self._clock.monotonic()
