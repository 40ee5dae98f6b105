"""Files of this machine: the client's own, which survive a power cut and which nobody else reads, and others, which are
opened without waiting for anything."""

import errno
import os
import stat
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from io import FileIO
from pathlib import Path
from typing import IO, BinaryIO, Final

from service_cli.errors import CommandFailed, CommandRefused

MAX_SMALL_FILE: Final = 64 * 1024
"""Bytes of a file that holds settings, a key or its like."""
_UNABLE: Final = {errno.EBADF, errno.EINVAL, errno.ENOTSUP}
"""Error numbers of file systems that do not sync folders."""


def sync_file(path: Path) -> None:
    """Flush what was written to a file to disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Flush the names made, replaced or removed in a folder to disk, as far as its file system can."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _UNABLE:
            raise
    finally:
        os.close(handle)


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading; ``OSError`` at once for anything else: opening a pipe would wait for its
    writer.
    """
    return open(path, "rb", opener=_regular)


class Unusable(Exception):
    """Why this file is not read; a half-sentence that goes after its name."""


class Missing(Unusable):
    """There is no such file."""


def read_small(path: Path, *, pipes: bool = False, errors: str = "strict") -> tuple[str, bool]:
    """Read the text of a file that holds settings, a key or its like, and whether other users can also read it.

    A pipe is read as a shell makes it of ``<(pass show key)``, waiting for its writer; a device that never ends is not.
    A byte order mark, which some editors write before UTF-8, is no part of the text. ``errors`` says how bytes that are
    not text are handled.
    """
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK | os.O_CLOEXEC)) as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode):
                data = file.read(MAX_SMALL_FILE + 1)
            elif pipes and stat.S_ISFIFO(status.st_mode):
                os.set_blocking(file.fileno(), True)
                data = file.read(MAX_SMALL_FILE + 1)
            else:
                raise Unusable("is not a regular file")
    except FileNotFoundError:
        raise Missing("does not exist") from None
    except IsADirectoryError:
        raise Unusable("is a directory") from None
    except (OSError, ValueError):
        raise Unusable("cannot be read") from None
    if len(data) > MAX_SMALL_FILE:
        raise Unusable(f"is larger than {MAX_SMALL_FILE // 1024} KiB")
    try:
        return data.removeprefix(BOM_UTF8).decode("utf-8", errors), bool(status.st_mode & 0o077)
    except UnicodeDecodeError:
        raise Unusable("is not text") from None


def open_private(path: Path, mode: str) -> IO[str]:
    """Open this client's own regular file of mode 0600 for writing text; ``OSError`` for anything else."""
    return open(path, mode, encoding="utf-8", opener=_regular)


def open_private_data(path: Path) -> FileIO:
    """Open the same file for bytes: reads from anywhere, unbuffered writes at the end."""
    return open(path, "a+b", buffering=0, opener=_regular)


def replace_private(path: Path, text: str) -> None:
    """Replace this client's own file, completely and durably, or not at all. Writers take turns."""
    draft = path.with_name(f"{path.name}.new")
    try:
        with open_private(draft, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise
    draft.replace(path)
    sync_folder(path.parent)


def _regular(path: str, flags: int) -> int:
    handle = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a regular file")
    return handle


_STATE: Final[ContextVar[Path | None]] = ContextVar("state", default=None)


@contextmanager
def state_below(directory: Path) -> Iterator[None]:
    """Keep the state of all calls inside the block in this directory."""
    token = _STATE.set(directory.absolute())
    try:
        yield
    finally:
        _STATE.reset(token)


def state_directory() -> Path:
    """Return ``$XDG_STATE_HOME/service-cli``, else ``~/.local/state/service-cli``.

    A relative path, or no home, is refused rather than ignored: otherwise each working directory would have its own
    record of what was signed, and money could be sent twice. A program may name another one (``state_below``).
    """
    if (named := _STATE.get()) is not None:
        return named
    variable = "XDG_STATE_HOME" if os.environ.get("XDG_STATE_HOME") else "HOME"
    base = Path(os.environ.get(variable, ""))
    if not base.is_absolute():
        problem = "is malformed: it is not an absolute path" if os.environ.get(variable) else "is not set"
        next_action = f"Set {variable} to one that begins with /."
        raise CommandRefused("configuration_malformed", f"{variable} {problem}.", next_action=next_action)
    return (base if variable == "XDG_STATE_HOME" else base / ".local" / "state") / "service-cli"


def private_file(folder: Path, name: str) -> IO[str]:
    """Open a file of mode 0600 for appending, in a folder that, with every parent made for it, only the owner can
    enter.
    """
    try:
        private_folder(folder)
        return open_private(folder / name, "a")
    except OSError as error:
        problem = f"The state directory {folder} cannot be used."
        raise CommandFailed(
            "journal_not_written", problem, next_action="Check its permissions, or set XDG_STATE_HOME."
        ) from error


def private_folder(folder: Path) -> None:
    """Make a folder that, with every parent made for it, only the owner can enter."""
    for level in reversed((folder, *folder.parents)):
        if not level.is_dir():
            level.mkdir(exist_ok=True, mode=0o700)
            sync_folder(level.parent)
