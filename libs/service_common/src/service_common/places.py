"""Places for what a process does at a time: what waits on another service holds a thread that others need."""

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import Condition, Lock
from typing import Final
from weakref import WeakValueDictionary

from bounty_protocol.errors import ServiceError

MAX_IN_FLIGHT: Final = 240
"""Requests in flight of a process: well above the hundred publications that may wait for their review at a time."""
MAX_WAITING: Final = 240
"""How many wait for a place at a time: each holds a thread, and what comes beyond is refused at once."""
MAX_WAITING_OF_ONE: Final = 160
"""Of those, for one key: the others' patience is left to others."""


class Places:
    """Those that are taken, counted by key. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts = Counter[Hashable]()
        self._freed = WeakValueDictionary[Hashable, Condition]()
        """Of each key for which somebody waits: only who waits holds it."""
        self._waiting = Counter[Hashable]()

    @contextmanager
    def hold(
        self, key: Hashable, most: int, *, patience: float = 0, refusal: ServiceError | None = None
    ) -> Iterator[None]:
        """Hold one of ``most`` places of ``key``; if none is free within ``patience`` seconds, raise ``refusal``.

        By default that is a 503 for a caller who sends too much, which is no failure of the service.
        """
        with self._lock:
            if self._counts[key] >= most and not (patience and self._wait(key, most, patience)):
                message = "Too many such requests, from your network or in total, are being answered at the moment."
                raise refusal or ServiceError("service_overloaded", message, is_failure=False)
            self._counts[key] += 1
        try:
            yield
        finally:
            with self._lock:
                self._counts[key] -= 1
                if not self._counts[key]:
                    del self._counts[key]
                if (freed := self._freed.get(key)) is not None:
                    freed.notify()

    def _wait(self, key: Hashable, most: int, seconds: float) -> bool:
        if self._waiting.total() >= MAX_WAITING or self._waiting[key] >= MAX_WAITING_OF_ONE:
            return False
        freed = self._freed.setdefault(key, Condition(self._lock))
        self._waiting[key] += 1
        try:
            return freed.wait_for(lambda: self._counts[key] < most, seconds)
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key]
