"""Reading a document named on the command line: a path, or ``-`` for stdin."""

import sys
from pathlib import Path
from typing import Final

from service_cli.outcome import Refused

MAX_BYTES: Final = 256 * 1024


def read_document(path: str) -> bytes:
    """The exact bytes, at most 256 KiB."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or "unreadable"
        raise Refused("file_unreadable", f"{path} cannot be read: {reason}.", next_action="Check the path.") from None
    if len(data) > MAX_BYTES:
        raise Refused("file_too_large", f"{path} is larger than 256 KiB.", next_action="Shorten the document.")
    return data
