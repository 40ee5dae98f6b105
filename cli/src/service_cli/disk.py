"""What has to survive a power cut: a file's bytes, and its name, which is on disk once the folder is."""

import errno
import os
from pathlib import Path
from typing import Final

_UNABLE: Final = {errno.EBADF, errno.EINVAL, errno.ENOTSUP}
"""What file systems answer that do not sync folders."""


def sync_file(path: Path) -> None:
    """Put what was written to a file on disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Put the names that were made, replaced or removed in a folder on disk, as far as its file system can."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _UNABLE:
            raise
    finally:
        os.close(handle)
