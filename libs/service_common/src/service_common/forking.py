"""A process forks only while its other threads hold no library's lock.

A child has one thread, and a copy of every lock as it was. One that another thread held, inside libpq's first
connection or in the metrics while they are scraped, is released by nobody there: the child would wait for it until it
is killed. So threads that call such libraries do it within ``no_fork_during``, and a fork waits until they are done;
but no longer than ``MOST_SECONDS``, since a call that takes longer waits for a server, which it does without a lock.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, local
from typing import Final

MOST_SECONDS: Final = 5.0


class _Own(local):
    """How many of the calls under way are this thread's."""

    count = 0


class _Calls:
    """Calls under way in this process's threads."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._under_way = 0
        self._to_fork = 0
        """Those of the calls under way whose threads wait to fork, and so are in no library."""
        self._own = _Own()

    @contextmanager
    def one(self) -> Iterator[None]:
        with self._changed:
            self._under_way += 1
        self._own.count += 1
        try:
            yield
        finally:
            self._own.count -= 1
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def before_fork(self) -> None:
        """Wait until no other thread's is under way, also of those that begin meanwhile: one may wait for the answer of
        another one. A check may fork by itself; two that do at once do not wait for each other. A thread with no call
        of its own waits for those, too: one that is about to fork may hold a lock for that."""
        self._changed.acquire()
        self._to_fork += self._own.count
        self._changed.notify_all()
        self._changed.wait_for(lambda: self._under_way <= (self._to_fork if self._own.count else 0), MOST_SECONDS)

    def after_fork(self) -> None:
        self._to_fork -= self._own.count
        self._changed.release()

    def in_child(self) -> None:
        self._changed, self._under_way, self._to_fork = Condition(), self._own.count, 0  # no other thread is here


_CALLS: Final = _Calls()
os.register_at_fork(before=_CALLS.before_fork, after_in_parent=_CALLS.after_fork, after_in_child=_CALLS.in_child)

no_fork_during = _CALLS.one
"""Around calls into libraries that a forked child calls, too."""
