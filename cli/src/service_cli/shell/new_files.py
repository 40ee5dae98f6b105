"""Files that a command makes: never in the place of one that is there."""

import os
from pathlib import Path

from service_cli.errors import CommandRefused


def require_no_file(path: Path) -> None:
    """Refuse a path at which a file is, before anything is worked out for it."""
    if os.path.lexists(path):
        raise _exists(path)


def _exists(path: Path) -> CommandRefused:
    next_action = "Name another path, or move it away."
    return CommandRefused("file_exists", f"{path} exists already.", next_action=next_action)


def write_new(path: Path, text: str) -> None:
    """Write it where nothing is yet."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}."
        raise CommandRefused("file_unwritable", message, next_action="Check the path.") from None
