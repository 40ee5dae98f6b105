"""Files that a command makes: never in the place of one that is there, and never half a file under its name."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

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
        with new_file(path) as file:
            file.write(text.encode())
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}."
        raise CommandRefused("file_unwritable", message, next_action="Check the path.") from None


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that gets its name once it is whole, so that a run that is killed leaves nothing in the next one's way.

    ``FileExistsError`` where something has the name.
    """
    if os.path.lexists(path):
        raise FileExistsError(path)
    made = path.with_name(f".{os.urandom(8).hex()}.part")
    try:
        with open(made, "xb", opener=lambda name, flags: os.open(name, flags, 0o644)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _give_name(made, path)
    finally:
        made.unlink(missing_ok=True)


def _give_name(made: Path, path: Path) -> None:
    try:
        os.link(made, path)  # unlike a rename, it takes nobody's place
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        made.rename(path)
