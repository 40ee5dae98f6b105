"""Files that hold settings, keys and their like, read within bounds.

At most 64 KiB of a regular file are read, or of a pipe as a shell makes it of ``<(pass show key)``; a device that never
ends is refused.
"""

import os
import stat
from pathlib import Path
from typing import Final

MAX_KEY_FILE: Final = 64 * 1024


class Unusable(Exception):
    """Why this file is not read; a half-sentence that goes after its name."""


def read_small(path: Path, *, pipes: bool = False, errors: str = "strict") -> tuple[str, bool]:
    """Read the text, and whether other users can also read it; ``FileNotFoundError`` if there is no file.

    ``errors`` says how bytes that are not text are handled. For a pipe, wait for its writer.
    """
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK | os.O_CLOEXEC)) as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode):
                data = file.read(MAX_KEY_FILE + 1)
            elif pipes and stat.S_ISFIFO(status.st_mode):
                os.set_blocking(file.fileno(), True)
                data = file.read(MAX_KEY_FILE + 1)
            else:
                raise Unusable("is not a regular file")
    except FileNotFoundError:
        raise
    except IsADirectoryError:
        raise Unusable("is a directory") from None
    except (OSError, ValueError):
        raise Unusable("cannot be read") from None
    if len(data) > MAX_KEY_FILE:
        raise Unusable(f"is larger than {MAX_KEY_FILE // 1024} KiB")
    try:
        return data.decode("utf-8", errors), bool(status.st_mode & 0o077)
    except UnicodeDecodeError:
        raise Unusable("is not text") from None
