"""The one directory from which files may leave this machine, and below which opened work is put.

A page that tells an agent to submit ``~/.ssh`` meets this: a path outside is refused whatever it is called, and so is
one that leads outside by a link. The agent may write here while the server reads, so everything is read once, from
descriptors below that of the work dir: what was a directory when it was looked at may be a link by now.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from bounty_protocol.domain.challenge.frontmatter import MAX_DOCUMENT_BYTES
from service_cli.client import Refused
from service_cli.work.selection import select

OPENED, WINNING = "opened", "winning"
"""Where opened work lies: it is a stranger's, and never leaves from there."""
_CHUNK: Final = 1024 * 1024
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OPTION = "--work-dir DIRECTORY"
_NEXT = "Put what is meant below the server's --work-dir, and name it from there."


@dataclass(frozen=True, slots=True)
class WorkDir:
    """Resolved once, when the server starts."""

    root: Path

    @staticmethod
    def of(path: Path) -> "WorkDir":
        """Open the directory; refuse the root, a home, or one that holds a home: that would be no bound."""
        root = Path(os.path.realpath(path))
        if not os.path.isdir(root):  # noqa: PTH112  # which raises nothing
            message = f"There is no directory {path} that this user can reach."
            raise Refused("work_dir_missing", message, next_action=f"Make one for this, and name it: {_OPTION}.")
        if Path.home().resolve().is_relative_to(root):
            message = f"{path} is a directory with everything that you have."
            raise Refused("work_dir_too_wide", message, next_action=f"Name one made for this: {_OPTION}.")
        return WorkDir(root)

    def read(self, path: str) -> bytes:
        """Read the bytes of a page below it; one more than a page may have if there are more."""
        with self._opened(self._below(path)) as file:
            return file.read(MAX_DOCUMENT_BYTES + 1)

    def copy(self, path: str, target: Path) -> None:
        """Copy what is sealed of a directory of one's own: neither the work dir itself, nor where opened work lies.

        ``target`` is made, readable by this user alone. Raises ``archive_refused`` for what may not be sealed, and
        ``files_changed`` for what is not as it was listed.
        """
        found = self._below(path)
        if found == self.root or found.relative_to(self.root).parts[0] in {OPENED, WINNING}:
            message = "That is the work dir itself, or work of others that was opened there."
            raise Refused("not_own_work", message, next_action="Make a directory below the work dir for your own work.")
        if not found.is_dir():
            raise Refused("file_not_found", "There is no such directory below the work dir.", next_action=_NEXT)
        entries = select(found).entries
        target.mkdir(mode=0o700)
        for entry in entries:
            if entry.directory:
                (target / entry.path).mkdir(mode=0o700)
                continue
            try:
                with self._opened(found / entry.path) as file:
                    _copy(file, target / entry.path, entry.size, 0o700 if entry.executable else 0o600)
            except Refused:
                message = "A file changed while it was read. Nothing was sealed."
                next_action = "Call again when nothing writes to that directory any more."
                raise Refused("files_changed", message, next_action=next_action) from None

    def opened(self, kind: str, bounty_id: int) -> Path:
        """Return where work of others is put: ``OPENED`` or ``WINNING``."""
        return self._below(f"{kind}/{bounty_id}")

    def _below(self, path: str) -> Path:
        try:
            found = (self.root / path).resolve()
        except (OSError, ValueError, RuntimeError):
            raise Refused("outside_work_dir", "This is no path.", next_action=_NEXT) from None
        if not found.is_relative_to(self.root):
            raise Refused("outside_work_dir", "This path leads out of the work dir.", next_action=_NEXT)
        return found

    @contextmanager
    def _opened(self, path: Path) -> Iterator[BinaryIO]:
        """Open a regular file at a path without links, part by part: none may have become a link."""
        *folders, name = path.relative_to(self.root).parts or (".",)
        try:
            descriptor = os.open(self.root, _DIRECTORY)
            for part, flags in (*((folder, _DIRECTORY) for folder in folders), (name, _FILE)):
                try:
                    below = os.open(part, flags, dir_fd=descriptor)
                finally:
                    os.close(descriptor)
                descriptor = below
        except OSError:
            raise _no_file() from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise _no_file()
        with os.fdopen(descriptor, "rb") as file:
            yield file


def _no_file() -> Refused:
    return Refused("file_not_found", "There is no such file below the work dir.", next_action=_NEXT)


def _copy(file: BinaryIO, target: Path, size: int, mode: int) -> None:
    """Copy exactly ``size`` bytes; ``file_not_found`` if there are more or less."""
    with open(target, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as copied:
        left = size
        while left and (chunk := file.read(min(_CHUNK, left))):
            copied.write(chunk)
            left -= len(chunk)
    if left or file.read(1):
        raise _no_file()
