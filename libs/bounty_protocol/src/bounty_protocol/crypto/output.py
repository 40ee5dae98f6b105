"""Output that appears whole or not at all.

Work happens under a temporary name beside the target, private to its owner (0600, 0700), and one step puts it in place.
On any failure or interruption that Python notices, nothing of it remains, nor do parent directories made for it. What a
killed process left is removed by the next one with the same target; what a living one works on is locked, and left
alone. Targets that already hold something are refused (``output_refused``).
"""

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from bounty_protocol.crypto.archive_read import writing_failed
from bounty_protocol.crypto.failures import Failure, SealedDataError

_PARTIAL: Final = re.compile(r"[0-9a-f]{12}\.partial")


@contextmanager
def new_directory(target: Path) -> Iterator[Path]:
    """Make a directory to fill; it becomes ``target`` if the block ends well."""
    if os.path.lexists(target) and (target.is_symlink() or not target.is_dir() or any(target.iterdir())):
        raise SealedDataError(Failure.OUTPUT_REFUSED, "the output directory already exists and is not empty")
    with _parents(target), _cleared(_beside(target)) as temporary:
        temporary.mkdir(mode=0o700)
        with _open(temporary, os.O_DIRECTORY) as descriptor:
            _lock(descriptor)
            yield temporary
        temporary.replace(target)


@contextmanager
def new_file(target: Path) -> Iterator[BinaryIO]:
    """Open a file to write; it becomes ``target`` if the block ends well."""
    if os.path.lexists(target):
        raise _appeared()
    with _parents(target), _cleared(_beside(target)) as temporary:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            _lock(descriptor)
            yield file
        _put_in_place(temporary, target)


def _put_in_place(temporary: Path, target: Path) -> None:
    """Name the file ``target``, unless something got that name in the meantime: a rename would replace it."""
    try:
        target.hardlink_to(temporary)
    except FileExistsError:
        raise _appeared() from None
    except OSError:  # a file system without hard links
        if os.path.lexists(target):
            raise _appeared() from None
        temporary.replace(target)
    else:
        temporary.unlink()


def _appeared() -> SealedDataError:
    return SealedDataError(Failure.OUTPUT_REFUSED, "the output file already exists")


def _beside(target: Path) -> Path:
    """Return a temporary name; remove what a dead process left under an earlier one."""
    with suppress(OSError):
        for left in partial_outputs(target):
            remove_if_dead(left)
    return target.with_name(f"{_stem(target)}{secrets.token_hex(6)}.partial")


def partial_outputs(target: Path) -> list[Path]:
    """List the outputs begun for this target and never renamed into place, by living and dead processes."""
    stem = _stem(target)
    try:
        beside = list(target.absolute().parent.iterdir())
    except FileNotFoundError:
        return []
    return [one for one in beside if one.name.startswith(stem) and _PARTIAL.fullmatch(one.name[len(stem) :])]


def remove_if_dead(left: Path) -> bool:
    """Remove a partial output unless a living process works on it; return whether it is gone."""
    with suppress(OSError), _open(left, os.O_NOFOLLOW) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)
    return not os.path.lexists(left)


def _stem(target: Path) -> str:
    return f".{target.name[:64]}."


def _lock(descriptor: int) -> None:
    """Mark this as in use; on a file system without locks nothing removes it either."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def _open(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


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
