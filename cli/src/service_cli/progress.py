"""What a person sees while something takes long: a bar for bytes, a clock for waits. On a terminal only.

Promises: one line that changes, gone when the work ends, whatever ended it; no more than ten drawings a second.
"""

import time
from typing import Final

from service_cli.output import clear, draw
from service_cli.words import duration

_BAR_SECONDS: Final = 0.1
_BAR_WIDTH: Final = 24


class Progress:
    """A bar with rate and remaining time; called with what is done and the total, as the crypto room reports it."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._started = self._drawn = time.monotonic()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        clear()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._drawn >= _BAR_SECONDS:
            self._drawn = now
            draw(bar(self._label, done, total, now - self._started))


class Waiting:
    """How long a wait has lasted and, where its end is known, what is left; ``tick`` is called at each look."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._started = time.monotonic()

    def __enter__(self) -> "Waiting":
        return self

    def __exit__(self, *_: object) -> None:
        clear()

    def tick(self, left: int | None = None) -> None:
        """``left``: seconds until the end, where that is known."""
        if left is not None:
            draw(f"{self._label}: {duration(max(0, left))} left")
        else:
            draw(f"{self._label}: {duration(int(time.monotonic() - self._started))} so far")


def bar(label: str, done: int, total: int, seconds: float) -> str:
    """One line: how much is done, how fast, how long it will still take."""
    share = min(done / total, 1.0) if total else 1.0
    filled = int(share * _BAR_WIDTH)
    rate = done / seconds if seconds > 0 else 0.0
    left = f"{(total - done) / rate:.0f} s left" if rate > 0 and done < total else "done" if done >= total else ""
    return f"{label} [{'#' * filled}{'.' * (_BAR_WIDTH - filled)}] {share:4.0%} {_size(rate)}/s {left}".rstrip()


def _size(value: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"
