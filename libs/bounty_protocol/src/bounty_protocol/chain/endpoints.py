"""Which of several RPC endpoints is queried first, from how each behaved recently.

An endpoint that fails, or whose answer the caller could not use, rests for a while that doubles each time in a row,
with jitter, and is queried only when no rested one is left. Among the others the one that answered last is queried
first. An endpoint is known by its place in the configuration, from 1: its address may hold a secret. Thread-safe: each
change is one assignment.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

FIRST_REST_SECONDS: Final = 0.5
LONGEST_REST_SECONDS: Final = 30.0
MOST_CALLS: Final = 100
"""Calls of one request: what most providers take."""
FIRST_BLOCKS: Final = 2_000
MOST_BLOCKS: Final = 10_000
"""Blocks of one range of logs: few providers take more."""
LARGER_AFTER: Final = 16
TOLERATED_SECONDS: Final = 6
"""Seconds between the newest blocks of two endpoints that are only the time that news takes to travel."""


@dataclass(slots=True)
class Portion:
    """How much an endpoint takes in one request: half as much once it refuses, twice as much after sixteen whole ones.

    What becomes of two threads that change it at once costs a request.
    """

    size: int
    most: int
    whole: int = 0
    """Requests of this size in a row that were answered."""

    def refused(self, size: int) -> None:
        """Note that a request of this size was refused."""
        self.size, self.whole = max(1, size // 2), 0

    def answered(self, size: int) -> None:
        """Note that a request of this size was answered."""
        if size >= self.size:
            self.whole += 1
            if self.whole >= LARGER_AFTER:
                self.size, self.whole = min(self.most, 2 * self.size), 0


@dataclass(slots=True)
class Endpoint:
    """One endpoint, its conduct, and how much it takes in one request."""

    place: int
    url: str = field(repr=False)
    failures: int = 0
    """Failures in a row."""
    rests_until: float = 0.0
    contradictions: int = 0
    """How often it was outvoted by the quorum."""
    calls: Portion = field(default_factory=lambda: Portion(MOST_CALLS, MOST_CALLS))
    """Calls of one request."""
    blocks: Portion = field(default_factory=lambda: Portion(FIRST_BLOCKS, MOST_BLOCKS))
    """Blocks of one range of logs."""


class Endpoints:
    """The endpoints of one client."""

    def __init__(
        self,
        urls: Sequence[str],
        *,
        monotonic: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.all = tuple(Endpoint(place, url) for place, url in enumerate(urls, 1))
        self._preferred = self.all[0]
        self._monotonic, self._jitter = monotonic, jitter

    @property
    def preferred(self) -> Endpoint:
        """The one that answered last."""
        return self._preferred

    def in_order(self) -> list[Endpoint]:
        """Return every endpoint, the one to query first at the front."""
        now = self._monotonic()
        return sorted(
            self.all,
            key=lambda each: (
                each.rests_until > now,
                each is not self._preferred,
                each.failures,
                each.place,
            ),
        )

    def is_resting(self, endpoint: Endpoint) -> bool:
        """Return whether the endpoint failed recently and is not queried for now."""
        return endpoint.rests_until > self._monotonic()

    def awake(self, least: int) -> list[Endpoint]:
        """Return the endpoints that may be queried, in order; add resting ones until there are ``least``."""
        now = self._monotonic()
        return [each for place, each in enumerate(self.in_order()) if place < least or each.rests_until <= now]

    def succeeded(self, endpoint: Endpoint, *, prefer: bool) -> None:
        """Note that the endpoint answered; with ``prefer`` query it first from now on."""
        endpoint.failures, endpoint.rests_until = 0, 0.0
        if prefer:
            self._preferred = endpoint

    def failed(self, endpoint: Endpoint) -> None:
        """Note that the endpoint did not answer."""
        endpoint.failures += 1
        longest = min(LONGEST_REST_SECONDS, FIRST_REST_SECONDS * 2 ** min(endpoint.failures - 1, 10))
        endpoint.rests_until = self._monotonic() + longest * (0.5 + self._jitter() / 2)

    def distrusted(self) -> None:
        """Report an unusable answer of the preferred endpoint, and prefer another one."""
        of_no_use = self._preferred
        self.failed(of_no_use)
        self._preferred = next((each for each in self.in_order() if each is not of_no_use), of_no_use)

    def contradicted(self, endpoint: Endpoint) -> None:
        """Note that the endpoint contradicted the quorum."""
        endpoint.contradictions += 1
        self.failed(endpoint)
