"""Files for ciphertext that is downloaded: an interrupted download stays in the state directory, and is continued.

Its name has the Submission's commitment, which fixes the envelope and so the digest and length of the whole. It is held
by one run at a time. It is removed once the work is open or was refused, and by the next download when nobody has
continued it for ``KEPT_DAYS``.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Final

from bounty_protocol.errors import ServiceError

from service_cli.disk import open_private_data, open_regular, private_folder, state_directory
from service_cli.errors import CommandFailed, CommandRefused

KEPT_DAYS: Final = 7


@contextmanager
def download_file(name: str, byte_length: int) -> Iterator[FileIO]:
    """Open a file for these bytes, with those that an earlier run left; ``download_not_written`` if that fails."""
    path = state_directory() / "downloads" / f"{name}.age"
    with _hold(path, byte_length) as file:
        _remove_old(path)
        done = False
        try:
            yield file
            done = True
        except ServiceError as error:
            done = not isinstance(error, CommandFailed)  # a refusal stays one with the same bytes
            raise
        finally:
            if done or not os.fstat(file.fileno()).st_size:
                with suppress(OSError):
                    path.unlink(missing_ok=True)


def not_kept(byte_length: int, folder: Path, error: OSError) -> CommandFailed:
    """Return the failure for a ciphertext that cannot be stored until it is opened."""
    message = f"The ciphertext of {byte_length} bytes cannot be kept in {folder}: {error.strerror}."
    next_action = (
        "Free some space, or set XDG_STATE_HOME to a folder with space, then run the command again: it continues here."
    )
    return CommandFailed("download_not_written", message, next_action=next_action)


def _hold(path: Path, byte_length: int) -> FileIO:
    """Lock the file for this process and return it."""
    try:
        private_folder(path.parent)
        while True:
            file = open_private_data(path)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(file.fileno()).st_nlink:
                    return file
            except OSError:
                file.close()
                raise
            file.close()  # whoever held it has removed it in between
    except BlockingIOError:
        message = "Another command is downloading this Submission."
        raise CommandRefused("already_running", message, next_action="Wait for it, or stop it.") from None
    except OSError as error:
        raise not_kept(byte_length, path.parent, error) from None


def _remove_old(current: Path) -> None:
    """Remove what nobody has continued for days and no other run holds."""
    oldest = time.time() - KEPT_DAYS * 86_400
    for path in current.parent.glob("*.age"):
        with suppress(OSError):
            if path == current or path.stat().st_mtime >= oldest:
                continue
            with open_regular(path) as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
