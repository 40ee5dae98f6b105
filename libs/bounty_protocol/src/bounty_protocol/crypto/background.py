"""Blocks of a stream passed to work in a second thread: hashing, writing.

The work gets the blocks in the order they were given. At most ``DEPTH`` of them wait, so memory stays bounded. What the
work raises is raised by the next call; leaving the ``with`` block always ends the thread. Hashing and writing release
the interpreter lock, so on two cores the work costs a stream little time.
"""

import queue
import threading
from collections.abc import Callable
from typing import Final, Generic, Self, TypeVar

T = TypeVar("T")
DEPTH: Final = 2


class Background(Generic[T]):
    """``give`` from one thread."""

    def __init__(self, work: Callable[[T], object], name: str) -> None:
        self._work = work
        self._failure: Exception | None = None
        self._blocks: queue.Queue[T | None] = queue.Queue(DEPTH)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._blocks.put(None)
        self._thread.join()

    def give(self, block: T) -> None:
        """Pass on a block, which must not change as long as a view of it exists."""
        self._check()
        self._blocks.put(block)

    def finish(self) -> None:
        """Return once everything given so far is done."""
        self._blocks.join()
        self._check()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        while (block := self._blocks.get()) is not None:
            try:
                if self._failure is None:
                    self._work(block)
            except Exception as failure:  # noqa: BLE001  # the giver's to handle
                self._failure = failure
            finally:
                self._blocks.task_done()
