"""Output that appears whole or not at all.

Promises: work happens under a temporary name beside the target, private to its owner (0600, 0700), and one rename
puts it in place; on any failure or interruption that Python sees, nothing of it remains, nor do parent directories
made for it. Refuses (``output_refused``) targets that already hold something.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from service_common.crypto.archive_read import writing_failed
from service_common.crypto.failures import Failure, SealedDataError


@contextmanager
def new_directory(target: Path) -> Iterator[Path]:
    """A directory to fill; it becomes ``target`` when the block ends well."""
    if os.path.lexists(target) and (target.is_symlink() or not target.is_dir() or any(target.iterdir())):
        raise SealedDataError(Failure.OUTPUT_REFUSED, "the output directory already exists and is not empty")
    with _parents(target), _cleared(_beside(target)) as temporary:
        temporary.mkdir(mode=0o700)
        yield temporary
        temporary.replace(target)


@contextmanager
def new_file(target: Path) -> Iterator[BinaryIO]:
    """A file to write; it becomes ``target`` when the block ends well."""
    if os.path.lexists(target):
        raise SealedDataError(Failure.OUTPUT_REFUSED, "the output file already exists")
    with _parents(target), _cleared(_beside(target)) as temporary:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            yield file
        temporary.replace(target)


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name[:64]}.{secrets.token_hex(6)}.partial")


@contextmanager
def _parents(target: Path) -> Iterator[None]:
    made: list[Path] = []
    try:
        for parent in reversed(target.absolute().parents):
            if not parent.exists():
                parent.mkdir(mode=0o700)
                made.append(parent)
        yield
    except BaseException as error:
        for parent in reversed(made):
            with suppress(OSError):
                parent.rmdir()
        if isinstance(error, OSError):
            raise writing_failed(error) from None
        raise


@contextmanager
def _cleared(temporary: Path) -> Iterator[Path]:
    try:
        yield temporary
    except BaseException:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)
        raise
