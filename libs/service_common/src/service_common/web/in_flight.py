"""Requests in flight, bounded for all and for each network; also those of one kind that take long. Thread-safe."""

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import Condition
from typing import Final

from bounty_protocol.errors import ServiceError

MAX_IN_FLIGHT: Final = 240
"""Of a process: well above the hundred publications that may wait for their review at a time."""


class InFlight:
    """What a process is doing, counted by key."""

    def __init__(self) -> None:
        self._freed = Condition()
        self._counts = Counter[Hashable]()
        self._waiting = 0

    @contextmanager
    def place(self, key: Hashable, most: int, *, patience: float = 0, is_failure: bool = False) -> Iterator[None]:
        """Be one of at most ``most`` of ``key``; where there is no place within ``patience`` seconds, raise 503.

        ``is_failure`` is whether that is a failure of the service, not of a caller who sends too much.
        """
        with self._freed:
            if self._counts[key] >= most and not (patience and self._wait(key, most, patience)):
                message = "Too many such requests, of your network or of all, are being answered at the moment."
                raise ServiceError("service_overloaded", message, is_failure=is_failure)
            self._counts[key] += 1
        try:
            yield
        finally:
            with self._freed:
                self._counts[key] -= 1
                if not self._counts[key]:
                    del self._counts[key]
                if self._waiting:
                    self._freed.notify_all()

    def _wait(self, key: Hashable, most: int, seconds: float) -> bool:
        self._waiting += 1
        try:
            return self._freed.wait_for(lambda: self._counts[key] < most, seconds)
        finally:
            self._waiting -= 1
