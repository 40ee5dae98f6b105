"""The user's own configuration file: ``output``, which chooses how a run prints, and ``keys``, which names keys.

``$XDG_CONFIG_HOME/service-cli/config.toml``, else below ``~/.config``. Each value is checked by what uses it; another
name at the top is refused.
"""

import os
import stat
from collections.abc import Mapping
from typing import Final, NamedTuple, NoReturn

from service_cli.errors import CommandRefused

OUTPUT: Final = "output"
TABLE: Final = "keys"
_MAX_BYTES: Final = 64 * 1024


class UserFile(NamedTuple):
    """What the file holds."""

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
        with open(path, "rb") as file:  # noqa: PTH123  # pathlib takes longer to load than help to be shown
            status = os.fstat(file.fileno())
            data = file.read(_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        _refuse(f"{path} cannot be read: {error.strerror or 'it failed'}.", "Check its rights, or remove it.")
    fix = f'Write {OUTPUT} = "text" or a table [{TABLE}] into it and nothing else, or remove it.'
    try:
        if len(data) > _MAX_BYTES:
            raise ValueError
        import tomllib  # only for those who have such a file

        values = tomllib.loads(data.decode())
    except (ValueError, RecursionError):
        _refuse(f"{path} is not a TOML file of this client.", fix)
    if set(values) - {OUTPUT, TABLE}:
        _refuse(f"{path} has a key other than {OUTPUT} and {TABLE}.", fix)
    others = bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)) or status.st_uid not in {0, os.geteuid()}
    return UserFile(path, values, others)


def of_user(variable: str, default: str, name: str) -> str | None:
    """A file of this client below one of the user's folders; a relative one is none (XDG Base Directory)."""
    base = os.environ.get(variable) or os.path.join(os.path.expanduser("~"), default)  # noqa: PTH111, PTH118
    return os.path.join(base, "service-cli", name) if os.path.isabs(base) else None  # noqa: PTH117, PTH118


def _refuse(message: str, next_action: str) -> NoReturn:
    raise CommandRefused("configuration_malformed", message, next_action=next_action)
