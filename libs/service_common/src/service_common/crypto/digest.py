"""SHA-256 of a stream, kept by a second thread.

Promises: the digest is that of the bytes in the order they were given; at most ``DEPTH`` blocks wait, so memory stays
bounded and a block may be reused once ``DEPTH + 1`` later ones were taken; leaving the ``with`` block ends the thread
whatever happened. Hashing releases the interpreter lock, so on two cores it costs a stream no time.
"""

import hashlib
import queue
import threading
from typing import Final, Self

from service_common.crypto.age_stream import Block
from service_common.types import Bytes32, bytes32

DEPTH: Final = 2


class BackgroundSha256:
    """``update`` from one thread, ``finish`` once."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._blocks: queue.Queue[Block | None] = queue.Queue(DEPTH)
        self._thread = threading.Thread(target=self._work, name="sha256", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._blocks.put(None)
        self._thread.join()

    def update(self, data: Block) -> None:
        """Take a block that does not change until ``DEPTH + 1`` later ones were taken, or ``value`` was called."""
        self._blocks.put(data)

    def value(self) -> Bytes32:
        """The digest of everything given so far; waits until all of it is hashed."""
        self._blocks.join()
        return bytes32(self._digest.digest())

    def _work(self) -> None:
        while (data := self._blocks.get()) is not None:
            self._digest.update(data)
            self._blocks.task_done()
