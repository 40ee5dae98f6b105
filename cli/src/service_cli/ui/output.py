"""The output of a command: events on stdout, messages on stderr, progress on a terminal.

stdout carries one JSON object per line and nothing else; at a terminal, unless ``--json`` is given, each event is text
(``ui/screen.py``), but for what a wallet or another program takes, which is JSON in both. Nothing secret is passed in
here. ``--quiet`` silences messages that only report progress, never warnings and refusals. One line that changes may be
drawn at the foot of a terminal; it is removed before anything else is printed, and when the work ends.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

if TYPE_CHECKING:
    from typing import Self

    from service_cli.ui.event import Event
    from service_cli.ui.screen import Screen
    from service_cli.ui.text import Token

E = TypeVar("E", bound="Event")
_COLUMNS: Final = 80
"""Columns of an output that is no terminal."""


class OutputLost(Exception):
    """Standard output is closed, or takes no more, as on a full disk."""


class ReaderGone(OutputLost):
    """The reader of standard output went away; the message names the event that nobody got."""


_NAMING: Final = ("bounty_id", "tx_hash", "spec_commitment", "submission_commitment", "code", "message", "path")


class OutputSink(NamedTuple):  # no dataclass, which takes longer to import
    """Where events and text go instead, in a program that calls the client."""

    event: Callable[["Event"], None]
    text: Callable[[str], None]
    progress: Callable[[str, int, int], None] = lambda _what, _done, _total: None
    """Takes what is at work, the bytes that are done, and how many there are."""


_SINK: Final[ContextVar[OutputSink | None]] = ContextVar("sink", default=None)
_QUIET = False
_DRAWN = False
_SCREEN: "Screen | None" = None


@contextmanager
def redirected(sink: OutputSink) -> Iterator[None]:
    """Print nothing inside."""
    token = _SINK.set(sink)
    try:
        yield
    finally:
        _SINK.reset(token)


def is_redirected() -> bool:
    """Return whether a calling program receives what is printed."""
    return _SINK.get() is not None


def set_quiet(quiet: bool) -> None:
    """Set whether text that only reports progress is left out."""
    global _QUIET  # noqa: PLW0603  # one command, one terminal
    _QUIET = quiet


def print_json() -> None:
    """Print events as JSON lines from here on."""
    global _SCREEN  # noqa: PLW0603  # one command, one output
    _SCREEN = None


def print_text(*, colours: bool) -> None:
    """Print events as text from here on, if stdout is a terminal."""
    global _SCREEN  # noqa: PLW0603
    if sys.stdout is not None and sys.stdout.isatty():
        from service_cli.ui.screen import Screen

        _SCREEN = Screen(sys.stdout, colours=colours and not os.environ.get("NO_COLOR"))


def show_by(*, token: "Callable[[], Token] | None" = None, now: int | None = None) -> None:
    """Show amounts in this token, read when the first is shown, and moments relative to this chain time."""
    if _SCREEN is not None:
        _SCREEN.token, _SCREEN.now = token or _SCREEN.token, _SCREEN.now if now is None else now


def emit(event: E, following: str | None = None) -> E:
    """Print one event and return it; at a terminal with the next command.

    Raises ``OutputLost`` if stdout cannot be written. A reader that leaves after it has seen enough ends the command
    silently, unless the event reports a transaction: then ``ReaderGone`` names what nobody read.
    """
    if (sink := _SINK.get()) is not None:
        sink.event(event)
        return event
    require_output()
    if _SCREEN is None:
        text = _as_json(event)
    elif event.FOR_PROGRAMS:
        text = _SCREEN.rest() + _as_json(event)
    else:
        try:
            text = _SCREEN.show(event, following)
        except Exception:  # noqa: BLE001  # what happened is never hidden by how it is shown
            text = _SCREEN.rest() + _as_json(event)
    try:
        _write(text)
    except BrokenPipeError:
        if not hasattr(event, "tx_hash"):
            raise
        fields = event.json()
        named = ", ".join(f"{field} {fields[field]}" for field in _NAMING if fields.get(field))
        raise ReaderGone(f"{event.name_of_event()} ({named})") from None
    return event


def finish() -> None:
    """Print what text mode still buffers: the rows of a table, whose widths are known only at its end."""
    if _SCREEN is not None and _SINK.get() is None:
        _write(_SCREEN.rest())


def is_text() -> bool:
    """Return whether events are printed as text."""
    return _SCREEN is not None and _SINK.get() is None


def _as_json(event: "Event") -> str:
    import json  # help and version print no event

    return json.dumps({"event": event.name_of_event(), **event.json()}, separators=(", ", ": ")) + "\n"


def _write(text: str) -> None:
    if not text:
        return
    clear()
    try:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputLost(error.strerror or "it failed") from error


def require_output() -> None:
    """Refuse to begin without a standard output."""
    if getattr(sys, "stdout", None) is None:
        raise OutputLost("it is closed")


def say(text: str) -> None:
    """Tell a person what happens."""
    if not _QUIET:
        warn(text)


def warn(text: str) -> None:
    """Tell a person what they must know; ``--quiet`` does not silence it."""
    if (sink := _SINK.get()) is not None:
        sink.text(text)
        return
    clear()
    with suppress(OSError, AttributeError):  # full or closed; the exit code still shows it
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def on_terminal() -> bool:
    """Return whether text is wanted and goes to a terminal that can redraw a line."""
    return (
        _SINK.get() is None
        and not _QUIET
        and sys.stderr is not None
        and sys.stderr.isatty()
        and os.environ.get("TERM") != "dumb"
    )


def terminal_columns() -> int:
    """Return what ``shutil.get_terminal_size`` returns, without importing every compressor."""
    with suppress(ValueError):
        if (columns := int(os.environ.get("COLUMNS", ""))) > 0:
            return columns
    with suppress(OSError, ValueError, AttributeError):
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _COLUMNS  # type: ignore[union-attr]
    return _COLUMNS


def draw(line: str) -> None:
    """Replace the changing line on a terminal, cut to its width; elsewhere nothing."""
    global _DRAWN  # noqa: PLW0603
    if on_terminal():
        _DRAWN = True
        _put("\r\x1b[K" + line[: max(1, terminal_columns() - 1)])


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


_BAR_SECONDS: Final = 0.1
_BAR_WIDTH: Final = 24


class _Drawing:
    """A changing line, which is removed at the end of the work."""

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, *_: object) -> None:
        clear()


class Progress(_Drawing):
    """A bar with rate and remaining time; called with what is done and the total, as the crypto package reports it.

    ``already`` is what an earlier run did of it.
    """

    def __init__(self, label: str, already: int = 0) -> None:
        self._label, self._already = label, already
        self._started = self._drawn = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        if (sink := _SINK.get()) is not None:
            sink.progress(self._label, done, total)
            return
        now = time.monotonic()
        if now - self._drawn >= _BAR_SECONDS:
            self._drawn = now
            draw(bar(self._label, done, total, now - self._started, self._already))


class Waiting(_Drawing):
    """How long a wait has lasted and, where its end is known, what is left; ``tick`` is called at each look."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._started = time.monotonic()

    def tick(self, left: int | None = None) -> None:
        """Draw the wait; ``left`` are the seconds until its end, if known."""
        from service_cli.ui.text import duration  # it imports everything that formatting needs

        if left is not None:
            draw(f"{self._label}: {duration(max(0, left))} left")
        else:
            draw(f"{self._label}: {duration(int(time.monotonic() - self._started))} so far")


def bar(label: str, done: int, total: int, seconds: float, already: int = 0) -> str:
    """Format one line: how much is done, how fast (not counting what was done ``already``), and how long it will still
    take.
    """
    from service_cli.ui.text import size  # it imports everything that formatting needs

    share = min(done / total, 1.0) if total else 1.0
    filled = int(share * _BAR_WIDTH)
    rate = (done - already) / seconds if seconds > 0 else 0.0
    left = f"{(total - done) / rate:.0f} s left" if rate > 0 and done < total else "done" if done >= total else ""
    return f"{label} [{'#' * filled}{'.' * (_BAR_WIDTH - filled)}] {share:4.0%} {size(int(rate))}/s {left}".rstrip()
