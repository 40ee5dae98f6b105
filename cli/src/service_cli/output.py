"""What a command prints: events for programs on stdout, words for people on stderr.

Promises: stdout carries one JSON object per line and nothing else; nothing secret is ever passed in here. ``--quiet``
silences words that only tell what happens, never warnings and refusals. One line that changes may be drawn at the foot
of a terminal; whatever else is printed removes it first.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final


class OutputLost(Exception):
    """Standard output is closed, or takes no more: a full disk, say."""


class ReaderGone(OutputLost):
    """Whoever read standard output went away; the message names the event that nobody got."""


_NAMING: Final = ("bounty_id", "tx_hash", "spec_commitment", "submission_commitment", "code", "message", "path")
_LOOKING: Final = ("bounty_list.", "bounty_show.", "bounty_watch.", "guardian_judgeable.", "config.", "doctor.")
"""Commands that only show: their reader may go away when it has seen enough."""


@dataclass(frozen=True, slots=True)
class Sink:
    """Where events and words go instead, in a program that calls the client."""

    event: Callable[[str, Mapping[str, object]], None]
    words: Callable[[str], None]


_SINK: Final[ContextVar[Sink | None]] = ContextVar("sink", default=None)
_QUIET = False
_DRAWN = False


@contextmanager
def redirected(sink: Sink) -> Iterator[None]:
    """Print nothing inside."""
    token = _SINK.set(sink)
    try:
        yield
    finally:
        _SINK.reset(token)


def set_quiet(quiet: bool) -> None:
    """Whether words that only tell what happens are left out."""
    global _QUIET  # noqa: PLW0603  # one command, one terminal
    _QUIET = quiet


def event(name: str, fields: Mapping[str, object]) -> None:
    """Print one event; ``OutputLost`` where that is not possible."""
    if (sink := _SINK.get()) is not None:
        sink.event(name, fields)
        return
    require_output()
    clear()
    try:
        sys.stdout.write(json.dumps({"event": name, **fields}, separators=(", ", ": ")) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        if name.startswith(_LOOKING):
            raise
        named = ", ".join(f"{field} {fields[field]}" for field in _NAMING if fields.get(field))
        raise ReaderGone(f"{name} ({named})" if named else name) from None
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
    if (sink := _SINK.get()) is not None:
        sink.words(words)
        return
    clear()
    with suppress(OSError, AttributeError):  # full or closed; the exit code still tells
        sys.stderr.write(words + "\n")
        sys.stderr.flush()


def on_terminal() -> bool:
    """Whether a person watches: words go to a terminal that can redraw a line, and are wanted."""
    return (
        _SINK.get() is None
        and not _QUIET
        and sys.stderr is not None
        and sys.stderr.isatty()
        and os.environ.get("TERM") != "dumb"
    )


def draw(line: str) -> None:
    """Replace the changing line on a terminal, cut to its width; elsewhere nothing."""
    global _DRAWN  # noqa: PLW0603
    if on_terminal():
        _DRAWN = True
        _put("\r\x1b[K" + line[: max(1, shutil.get_terminal_size().columns - 1)])


def clear() -> None:
    """Remove the changing line."""
    global _DRAWN  # noqa: PLW0603
    if _DRAWN:
        _DRAWN = False
        _put("\r\x1b[K")


def _put(text: str) -> None:
    with suppress(OSError, AttributeError):
        sys.stderr.write(text)
        sys.stderr.flush()
