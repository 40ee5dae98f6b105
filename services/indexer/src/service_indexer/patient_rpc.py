"""A client of one RPC endpoint for a check of it: it waits where the endpoint wants it to, counts, and ends in time."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import urllib3
from bounty_protocol.chain.endpoints import Endpoint
from bounty_protocol.chain.json_rpc import Call, ChainUnavailable, JsonRpc
from bounty_protocol.clock import Clock

ANSWER_SECONDS: Final = 10.0
ALL_SECONDS: Final = 180.0
"""Of all requests; the last may take its own time beyond that."""
LONGEST_WAIT_SECONDS: Final = 15
"""The most that is waited because an endpoint wants to be queried later."""
WAIT_SECONDS: Final = 1
"""What is waited where it does not say how long; twice as long each time in a row."""
TRIES: Final = 3


class OutOfTime(ChainUnavailable):
    """Nothing more is requested of this provider; ``cause`` is why."""


class PatientRpc(JsonRpc):
    """A client of one endpoint that waits where it is queried too often, counts, and ends in time.

    ``OutOfTime`` is raised instead of a request that would come after ``ALL_SECONDS``, or for which more than
    ``LONGEST_WAIT_SECONDS`` would have to be waited.
    """

    def __init__(self, url: str, clock: Clock) -> None:
        timeout = urllib3.Timeout(connect=min(3.0, ANSWER_SECONDS), read=ANSWER_SECONDS)
        super().__init__([url], timeout=timeout, answer_seconds=ANSWER_SECONDS)
        self._clock = clock
        self._ends, self._not_before = clock.monotonic() + ALL_SECONDS, 0.0
        self._tries = TRIES
        self.requests, self.calls, self.limited = 0, 0, 0

    @contextmanager
    def impatient(self) -> Iterator[None]:
        """Within, a request that is refused for now is not sent again: the caller finds out what is refused."""
        self._tries = 1
        try:
            yield
        finally:
            self._tries = TRIES

    def reconnect(self) -> None:
        """Send the next request over a new connection, which another of the provider's nodes may take."""
        self._http.clear()

    def ask(self, endpoint: Endpoint, calls: Sequence[Call]) -> list[object]:
        for tried in range(self._tries):
            self._wait()
            self.requests, self.calls = self.requests + 1, self.calls + len(calls)
            try:
                return super().ask(endpoint, calls)
            except ChainUnavailable as error:
                if not error.limited:
                    raise
                limit = error.bare()
            self.limited += 1
            wish = WAIT_SECONDS * 2**tried if limit.retry_after is None else limit.retry_after
            self._not_before = self._clock.monotonic() + wish
        raise limit

    def _wait(self) -> None:
        """Until the endpoint wants to be queried again."""
        now = self._clock.monotonic()
        wait = max(0.0, self._not_before - now)
        if wait > LONGEST_WAIT_SECONDS:
            raise OutOfTime(cause=f"it wants to be queried again in {math.ceil(wait):,} s: run the check then")
        if now + wait >= self._ends:
            raise OutOfTime(cause=f"the {ALL_SECONDS:g} s of this check are over")
        if wait:
            self._clock.sleep(wait)
