"""The most memory that this process held in a while."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.watching.memory import resident

MIB = 1 << 20


def status_of(name: str, pid: int | str = "self") -> int:
    """Bytes: ``VmRSS`` now, ``VmHWM`` the most since the process began, or since that was reset."""
    return int(resident(name, pid) * MIB)


@dataclass
class Growth:
    """How much more than at its beginning."""

    bytes: int = 0


@contextmanager
def growth() -> Iterator[Growth]:
    """Measure it until the block ends."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the most so far is forgotten
    before, measured = status_of("VmRSS"), Growth()
    try:
        yield measured
    finally:
        measured.bytes = status_of("VmHWM") - before
