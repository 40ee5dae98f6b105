"""Paths of the command line: a document (or ``-`` for stdin), and a directory to write to."""

import os
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


def require_new(directory: Path) -> None:
    """Refuse an output directory that could not take the files, before anything is signed for them."""
    problem = None
    if os.path.lexists(directory):
        if directory.is_symlink() or not directory.is_dir():
            problem = "is not a directory"
        elif not os.access(directory, os.R_OK | os.W_OK | os.X_OK) or any(directory.iterdir()):
            problem = "is not empty, or not yours to write"
    above = next(parent for parent in directory.absolute().parents if os.path.lexists(parent))
    if problem is None and not (above.is_dir() and os.access(above, os.W_OK | os.X_OK)):
        problem = f"cannot be made in {above}"
    if problem is not None:
        message = f"The output directory must be new or empty; {directory} {problem}."
        raise Refused("output_refused", message, next_action="Name another OUTPUT_DIR, or move that one away.")
