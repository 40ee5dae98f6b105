"""Files that hold settings, keys and their like, read within bounds.

At most 64 KiB of a regular file are read, or of a pipe as a shell makes it of ``<(pass show key)``, which is waited for
two minutes; a device that never ends is refused.
"""

import os
import select
import stat
import time
from pathlib import Path
from typing import Final

MAX_KEY_FILE: Final = 64 * 1024
PIPE_SECONDS: Final = 120.0
"""As long as a command that prints a key: somebody may have to unlock the password manager first."""


class Unusable(Exception):
    """Why this file is not read; a half-sentence that goes after its name."""


def read_small(path: Path, *, pipes: bool = False, errors: str = "strict") -> tuple[str, bool]:
    """The text, and whether other users can read it, too; ``FileNotFoundError`` where there is nothing.

    ``errors`` is what becomes of bytes that are no text. Into a pipe somebody has to write within ``PIPE_SECONDS``.
    """
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK | os.O_CLOEXEC)) as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode):
                data = file.read(MAX_KEY_FILE + 1)
            elif pipes and stat.S_ISFIFO(status.st_mode):
                data = _from_pipe(file.fileno())
            else:
                raise Unusable("is no regular file")
    except FileNotFoundError:
        raise
    except (OSError, ValueError):
        raise Unusable("cannot be read") from None
    if len(data) > MAX_KEY_FILE:
        raise Unusable(f"is larger than {MAX_KEY_FILE // 1024} KiB")
    try:
        return data.decode("utf-8", errors), bool(status.st_mode & 0o077)
    except UnicodeDecodeError:
        raise Unusable("is not text") from None


def _from_pipe(handle: int) -> bytes:
    """All bytes of a pipe until it is closed, or has more than a key file."""
    ends, data = time.monotonic() + PIPE_SECONDS, bytearray()
    while len(data) <= MAX_KEY_FILE:
        ready, _, _ = select.select([handle], [], [], max(0.0, ends - time.monotonic()))
        if not ready:
            raise Unusable(f"is a pipe that nobody has written to and closed within {PIPE_SECONDS:.0f} seconds")
        chunk = os.read(handle, MAX_KEY_FILE)
        if not chunk:
            break
        data += chunk
    return bytes(data)
