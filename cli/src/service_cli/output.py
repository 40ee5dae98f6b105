"""What a command prints: events for programs on stdout, words for people on stderr.

Promises: stdout carries one JSON object per line and nothing else; nothing secret is ever passed in here. ``--quiet``
silences words that only tell what happens, never warnings and refusals. A progress bar is drawn only on a terminal.
"""

import json
import sys
import time
from collections.abc import Mapping
from contextlib import suppress


class OutputLost(Exception):
    """Standard output is closed, or takes no more: a full disk, say."""


_QUIET = False
_BAR_SECONDS = 0.1
_BAR_WIDTH = 24


def set_quiet(quiet: bool) -> None:
    """Whether words that only tell what happens are left out."""
    global _QUIET  # noqa: PLW0603  # one command, one terminal
    _QUIET = quiet


def event(name: str, fields: Mapping[str, object]) -> None:
    """Print one event; ``OutputLost`` where that is not possible."""
    require_output()
    try:
        sys.stdout.write(json.dumps({"event": name, **fields}, separators=(", ", ": ")) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputLost(error.strerror or "it failed") from error


def require_output() -> None:
    """Whether there is a standard output at all; without one nothing is begun."""
    if getattr(sys, "stdout", None) is None:
        raise OutputLost("it is closed")


def say(words: str) -> None:
    """Tell a person what happens."""
    if not _QUIET:
        warn(words)


def warn(words: str) -> None:
    """Tell a person what must be known; ``--quiet`` does not silence it."""
    with suppress(OSError, AttributeError):  # full or closed; the exit code still tells
        sys.stderr.write(words + "\n")
        sys.stderr.flush()


class Progress:
    """A bar with rate and remaining time, on a terminal; elsewhere nothing.

    Called with what is done and the total, as the crypto room reports it. Leaving the ``with`` block clears the line.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._shown = sys.stderr is not None and sys.stderr.isatty() and not _QUIET
        self._started = self._drawn = time.monotonic()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self._shown and now - self._drawn >= _BAR_SECONDS:
            self._drawn = now
            sys.stderr.write("\r\x1b[K" + bar(self._label, done, total, now - self._started))
            sys.stderr.flush()


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
