"""How a run prints: JSON lines for programs, or text for people.

The first of these that is there: ``--json``, ``--text``, the exported ``SERVICE_OUTPUT``, ``output`` in the user's own
configuration file; else JSON. A ``.env`` never chooses, since it may be somebody else's, and a program has to know what
it reads. What chooses and is malformed is refused before anything is done.
"""

import os
import sys
from enum import StrEnum
from typing import Final, NamedTuple, NoReturn

from service_cli.errors import CommandRefused

VARIABLE: Final = "SERVICE_OUTPUT"
_DEFAULT: Final = "default"
_HINT: Final = (
    "note: this prints JSON for programs; --text prints sentences and tables, and SERVICE_OUTPUT=text keeps it so "
    "(shown once)"
)


class Mode(StrEnum):
    """What stdout carries."""

    JSON = "json"
    TEXT = "text"


class Choice(NamedTuple):  # made in a fifth of a dataclass's time, which every start would take
    """What a run prints, and what chose it."""

    mode: Mode
    source: str
    """An option, ``environment``, the configuration file's path, or ``default`` where nothing chooses."""

    @property
    def is_default(self) -> bool:
        return self.source == _DEFAULT


def chosen_mode(*, text: bool, json: bool) -> Choice:
    """What this run prints; ``configuration_malformed`` where what chooses it is neither text nor JSON."""
    if json:
        return Choice(Mode.JSON, "--json")
    if text:
        return Choice(Mode.TEXT, "--text")
    if value := os.environ.get(VARIABLE):
        mode = _mode(value) or _refuse(f"{VARIABLE} is neither text nor json.", f"Set {VARIABLE} to one of the two.")
        return Choice(mode, "environment")
    return _configured() or Choice(Mode.JSON, _DEFAULT)


def show_hint_once() -> None:
    """At a terminal, once in this user's life: that there is text, too."""
    from service_cli.shell.output import is_quiet, warn
    from service_cli.shell.user_file import of_user

    seen = None if is_quiet() else of_user("XDG_STATE_HOME", ".local/state", "text-mode-shown")
    if seen is None or sys.stdout is None or sys.stderr is None or not (sys.stdout.isatty() and sys.stderr.isatty()):
        return
    try:
        os.makedirs(os.path.dirname(seen), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120  # as fast as help
        os.close(os.open(seen, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:  # shown before, or it cannot be remembered: then better not at all than at every run
        return
    warn(_HINT)


def _configured() -> Choice | None:
    """What the user's configuration file chooses."""
    from service_cli.shell.user_file import OUTPUT, read_user_file

    found = read_user_file()
    if found is None or (value := found.values.get(OUTPUT)) is None:
        return None
    fix = f'Write {OUTPUT} = "text" into it, or remove that line.'
    return Choice(_mode(value) or _refuse(f"{OUTPUT} in {found.path} is neither text nor json.", fix), found.path)


def _mode(value: object) -> Mode | None:
    return next((mode for mode in Mode if mode.value == value), None)


def _refuse(message: str, next_action: str) -> NoReturn:
    raise CommandRefused("configuration_malformed", message, next_action=next_action)
