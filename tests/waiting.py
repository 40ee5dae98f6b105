"""Waiting for what happens in another process or on a chain."""

import time
from collections.abc import Callable


def wait_until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    """Ask until it is so; an ``AssertionError`` where it does not come to pass."""
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, "it did not come to pass"
        time.sleep(0.05)
