"""The clock of one process jumps while it runs, and comes back: by libfaketime of Debian, which nobody installs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from local_stack.launch import RunningProcess

from tools.debian import unpacked

TOP: Final = Path(__file__).parents[2]
JUMPS: Final = (-86_400, -900, -20, 20, 900, 86_400)
"""In seconds."""
_TRUE: Final = "+0"
_SLEEP: Final = """
import _thread
import time


def sleep(seconds):
    lock = _thread.allocate_lock()
    lock.acquire()
    lock.acquire(True, seconds)


time.sleep = sleep
"""
"""What a process loads before all else: libfaketime gets sleeps until a monotonic moment, as Python's are, wrong."""


@contextmanager
def jumped(service: RunningProcess, seconds: int, folder: Path) -> Iterator[None]:
    """The process reads a time so many seconds off. One whose clock never jumped is started again first, for which
    ``folder`` has its place; what counts seconds without a date goes on as it did."""
    told = folder / f"{service.process.name}.clock"
    told.write_text(_TRUE)
    if "LD_PRELOAD" not in service.environment:
        service.stop()
        (folder / "sitecustomize.py").write_text(_SLEEP)
        service.restart(
            {
                "PYTHONPATH": str(folder),
                "LD_PRELOAD": str(_library()),
                "FAKETIME_TIMESTAMP_FILE": str(told),
                "FAKETIME_CACHE_DURATION": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                "NO_FAKE_STAT": "1",
            }
        )
    told.write_text(f"{seconds:+}")
    try:
        yield
    finally:
        told.write_text(_TRUE)


def _library() -> Path:
    root = unpacked(TOP / ".local/faketime", ["libfaketime"])
    return next(root.glob("usr/lib/*/faketime/libfaketimeMT.so.1"))
