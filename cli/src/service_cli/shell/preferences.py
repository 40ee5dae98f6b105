"""The user's preferences: how a run prints, JSON lines for programs or text for people, and the user's own file.

The first of these chooses: ``--json``, ``--text``, the exported ``SERVICE_OUTPUT``, ``output`` in the user's own
configuration file; else JSON. A ``.env`` cannot set it, since somebody else may have written the file: in scripts pass
``--json``. A malformed choice is refused before anything is done.

The file is ``$XDG_CONFIG_HOME/service-cli/config.toml``, else below ``~/.config``. It has ``output``, and ``keys``,
which names keys. Each value is checked by what uses it; another name at the top is refused.
"""

import os
import stat
import sys
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple, NoReturn

from service_cli.errors import CommandRefused

OUTPUT_VARIABLE: Final = "SERVICE_OUTPUT"
_DEFAULT: Final = "default"
_HINT: Final = (
    "note: this prints JSON for programs; --text prints sentences and tables, and SERVICE_OUTPUT=text keeps it so "
    "(shown once)"
)


class Mode(StrEnum):
    """The form of stdout."""

    JSON = "json"
    TEXT = "text"


class OutputChoice(NamedTuple):  # made in a fifth of a dataclass's time, which every start would take
    """The chosen output of a run, and by what it was chosen."""

    mode: Mode
    source: str
    """An option, ``environment``, the configuration file's path, or ``default`` where nothing chooses."""

    @property
    def is_default(self) -> bool:
        return self.source == _DEFAULT


def chosen_mode(*, text: bool, json: bool) -> OutputChoice:
    """The output form of this run; ``configuration_malformed`` where what chooses it is neither text nor JSON."""
    if json:
        return OutputChoice(Mode.JSON, "--json")
    if text:
        return OutputChoice(Mode.TEXT, "--text")
    if value := os.environ.get(OUTPUT_VARIABLE):
        mode = _mode(value) or _refuse(
            f"{OUTPUT_VARIABLE} is neither text nor json.", f"Set {OUTPUT_VARIABLE} to one of the two."
        )
        return OutputChoice(mode, "environment")
    return _configured() or OutputChoice(Mode.JSON, _DEFAULT)


def show_hint_once() -> None:
    """At a terminal, once in this user's life: that there is text, too."""
    from service_cli.shell.output import is_quiet, warn

    seen = None if is_quiet() else of_user("XDG_STATE_HOME", ".local/state", "text-mode-shown")
    if seen is None or sys.stdout is None or sys.stderr is None or not (sys.stdout.isatty() and sys.stderr.isatty()):
        return
    try:
        os.makedirs(os.path.dirname(seen), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120  # as fast as help
        os.close(os.open(seen, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:  # shown before, or it cannot be remembered: then better not at all than at every run
        return
    warn(_HINT)


def _configured() -> OutputChoice | None:
    """The output form in the user's configuration file."""
    found = read_user_file()
    if found is None or (value := found.values.get(OUTPUT)) is None:
        return None
    fix = f'Write {OUTPUT} = "text" into it, or remove that line.'
    return OutputChoice(_mode(value) or _refuse(f"{OUTPUT} in {found.path} is neither text nor json.", fix), found.path)


def _mode(value: object) -> Mode | None:
    return next((mode for mode in Mode if mode.value == value), None)


def _refuse(message: str, next_action: str) -> NoReturn:
    raise CommandRefused("configuration_malformed", message, next_action=next_action)


OUTPUT: Final = "output"
KEYS_TABLE: Final = "keys"
_MAX_BYTES: Final = 64 * 1024


class UserFile(NamedTuple):
    """The parsed configuration file."""

    path: str
    values: Mapping[str, object]
    exposed: bool
    """Whether another user could have written it."""


def read_user_file() -> UserFile | None:
    """None where there is none; ``configuration_malformed`` for what is not this client's TOML."""
    path = of_user("XDG_CONFIG_HOME", ".config", "config.toml")
    if path is None:
        return None
    try:
        with open(path, "rb", opener=_at_once) as file:  # pathlib takes longer to load than help to be shown
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                _refuse(f"{path} is no regular file.", "Remove it, or put a file in its place.")
            data = file.read(_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        _refuse(f"{path} cannot be read: {error.strerror or 'it failed'}.", "Check its rights, or remove it.")
    fix = f'Write {OUTPUT} = "text" or a table [{KEYS_TABLE}] into it and nothing else, or remove it.'
    try:
        if len(data) > _MAX_BYTES:
            raise ValueError
        import tomllib  # only for those who have such a file

        values = tomllib.loads(data.decode())
    except (ValueError, RecursionError):
        _refuse(f"{path} is not a TOML file of this client.", fix)
    if set(values) - {OUTPUT, KEYS_TABLE}:
        _refuse(f"{path} has a key other than {OUTPUT} and {KEYS_TABLE}.", fix)
    others = bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)) or status.st_uid not in {0, os.geteuid()}
    return UserFile(path, values, others)


def _at_once(path: str, flags: int) -> int:
    """Opened without waiting: a pipe would wait for its writer."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def of_user(variable: str, default: str, name: str) -> str | None:
    """A file of this client below one of the user's folders; a relative one is none (XDG Base Directory)."""
    base = os.environ.get(variable) or os.path.join(os.path.expanduser("~"), default)  # noqa: PTH111, PTH118
    return os.path.join(base, "service-cli", name) if os.path.isabs(base) else None  # noqa: PTH117, PTH118
