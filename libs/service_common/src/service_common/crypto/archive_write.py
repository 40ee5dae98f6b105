"""A directory as a deterministic tar stream.

Promises: the same names, contents and executable bits give the same bytes on every machine: entries in byte order of
their paths, no owner, no times, modes 0644 and 0755, pax headers only for names that need them, two zero blocks at the
end. Refuses (``archive_refused``) links and special files, names ``archive`` refuses, empty directories as the whole,
and files that change while they are read. Streams: memory does not grow with the content, only with the names.
"""

import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from service_common.crypto.age_stream import Block
from service_common.crypto.archive import BLOCK, ArchiveLimits, Names, refused, shown

_READ: Final = 256 * 1024
_END: Final = bytes(2 * BLOCK)


@dataclass(frozen=True, slots=True)
class Entry:
    """One file or directory, path relative to the archived directory."""

    path: str
    size: int
    directory: bool
    executable: bool

    def header(self) -> bytes:
        """The entry's header blocks."""
        info = tarfile.TarInfo(self.path)
        info.type = tarfile.DIRTYPE if self.directory else tarfile.REGTYPE
        info.mode = 0o755 if self.directory or self.executable else 0o644
        info.size = self.size
        return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")


def list_directory(root: Path, limits: ArchiveLimits) -> tuple[Entry, ...]:
    """Everything below a directory in archive order, or ``archive_refused``."""
    entries: list[Entry] = []
    names, total = Names(limits), 0
    pending = [""]
    while pending:
        folder = pending.pop()
        for found in _scan(root, folder):
            entry = _entry(found, f"{folder}{found.name}")
            names.add(entry.path, directory=entry.directory)
            entries.append(entry)
            total += entry.size
            if total > limits.max_bytes:
                raise refused(f"more than {limits.max_bytes} bytes of files")
            if entry.directory:
                pending.append(f"{entry.path}/")
    if not any(not entry.directory for entry in entries):
        raise refused("there is no file in the directory")
    return tuple(sorted(entries, key=lambda entry: entry.path.encode()))


def tar_length(entries: tuple[Entry, ...]) -> int:
    """How many bytes ``tar_blocks`` will give."""
    return sum(len(entry.header()) + entry.size + -entry.size % BLOCK for entry in entries) + len(_END)


def tar_blocks(root: Path, entries: tuple[Entry, ...]) -> Iterator[Block]:
    """The tar stream. A block may be reused once the next one is asked for."""
    buffer = memoryview(bytearray(_READ))
    for entry in entries:
        yield entry.header()
        if not entry.directory:
            yield from _content(root, entry, buffer)
            yield bytes(-entry.size % BLOCK)
    yield _END


def _scan(root: Path, folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(root / folder) as found:
            return list(found)
    except OSError:
        raise refused(f"cannot read the directory {shown(folder or '.')}") from None


def _entry(found: os.DirEntry[str], path: str) -> Entry:
    status = found.stat(follow_symlinks=False)
    if stat.S_ISDIR(status.st_mode):
        return Entry(path, 0, directory=True, executable=True)
    if stat.S_ISREG(status.st_mode):
        return Entry(path, status.st_size, directory=False, executable=bool(status.st_mode & 0o100))
    kind = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "neither a file nor a directory"
    raise refused(f"{shown(path)} is {kind}")


def _content(root: Path, entry: Entry, buffer: memoryview) -> Iterator[Block]:
    try:
        descriptor = os.open(root / entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        raise refused(f"cannot read {shown(entry.path)}") from None
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        remaining = entry.size
        while remaining and (size := file.readinto(buffer[: min(remaining, _READ)])):
            remaining -= size
            yield buffer[:size]
        if remaining or file.read(1):
            raise refused(f"{shown(entry.path)} changed while it was read")
