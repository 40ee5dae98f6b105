"""A small text file of this machine: a key, a keyring, ``.env``.

Promises: at most 64 KiB are read, of a regular file without waiting for anybody, or, where the caller takes pipes, of
one as a shell makes it of ``<(pass show key)``. A device that never ends and a folder are ``Unusable`` with the reason;
what was read is never part of it.
"""

import os
import stat
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 64 * 1024


class Unusable(Exception):
    """Why this file is not read; a half-sentence that goes after its name."""


def read_small(path: Path, *, pipes: bool = False) -> tuple[str, bool]:
    """The text, and whether other users can read it, too; ``FileNotFoundError`` where there is nothing."""
    try:
        piped = pipes and stat.S_ISFIFO(path.stat().st_mode)
        waiting = 0 if piped else os.O_NONBLOCK
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | waiting | os.O_CLOEXEC)) as file:
            status = os.fstat(file.fileno())
            if not (stat.S_ISREG(status.st_mode) or (piped and stat.S_ISFIFO(status.st_mode))):
                raise Unusable("is no regular file")
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise
    except (OSError, ValueError):
        raise Unusable("cannot be read") from None
    if len(data) > MAX_BYTES:
        raise Unusable(f"is larger than {MAX_BYTES // 1024} KiB")
    try:
        return data.decode("utf-8"), bool(status.st_mode & 0o077)
    except UnicodeDecodeError:
        raise Unusable("is not text") from None
