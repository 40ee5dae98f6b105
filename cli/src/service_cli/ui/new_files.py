"""Files that a command makes: never in the place of one that is there."""

import os
from pathlib import Path

from service_cli.errors import CommandRefused


def require_no_file(path: Path) -> None:
    """Refuse a path at which a file is, before anything is worked out for it."""
    if os.path.lexists(path):
        next_action = "Name another path, or move it away."
        raise CommandRefused("file_exists", f"{path} exists already.", next_action=next_action)


def write_new(path: Path, text: str) -> None:
    """Write it where nothing is yet."""
    require_no_file(path)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}."
        raise CommandRefused("file_unwritable", message, next_action="Check the path.") from None
