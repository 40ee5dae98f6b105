"""A directory as a deterministic tar stream.

The same names, contents and executable bits give the same bytes on every machine: entries in byte order of their paths,
no owner, no times, modes 0644 and 0755, pax headers only for a comment and for names that need them, two zero blocks at
the end. GNU tar writes the same bytes with the options in ``docs/formats.md``. Refused (``archive_refused``) are links
and special files, names that ``archive`` refuses, a directory without a file, and files that change while they are
read. Memory does not grow with the content, only with the names.
"""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bounty_protocol.crypto.archive import BLOCK, ArchiveLimits, ArchiveNames, refused, shown, shown_size
from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.errors import MAX_ISSUE_PATH, Issue, shown_issues

if TYPE_CHECKING:  # with the ciphers, which listing a directory does not need
    from bounty_protocol.crypto.age_stream import Block

_READ: Final = 256 * 1024
_END: Final = bytes(2 * BLOCK)
_NAME_FIELD: Final = 100
_PAX_NAME: Final = b"@PaxHeader"
_MAX_SIZE: Final = 8**11 - 1
"""The largest file whose length fits its octal field: one byte less than 8 GiB."""


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """One file or directory, path relative to the archived directory."""

    path: str
    size: int
    directory: bool
    executable: bool

    def header(self) -> bytes:
        """Return the entry's header blocks; a pax record carries a name that is long or not ASCII."""
        name = self.path.encode() + (b"/" if self.directory else b"")
        mode = 0o755 if self.directory or self.executable else 0o644
        block = _header(name, mode, self.size, b"5" if self.directory else b"0", b"0000000\0")
        if len(name) <= _NAME_FIELD and name.isascii():
            return block
        record = _pax_record(b"path", name)
        return _extension(b"x", record) + block


Keep = Callable[[str, bool], bool]
"""Whether an entry belongs to the archive, by its path and whether it is a directory."""


def list_directory(
    root: Path, limits: ArchiveLimits, keep: Keep = lambda _path, _directory: True
) -> tuple[ArchiveEntry, ...]:
    """List everything in a directory that ``keep`` accepts, in archive order; open nothing.

    ``archive_refused`` names everything that may not be in an archive at once and, if the files are too large, the
    largest of them. A directory that ``keep`` rejects is not entered.
    """
    entries: list[ArchiveEntry] = []
    problems: list[Issue] = []
    names, pending = ArchiveNames(limits), [""]
    while pending:
        folder = pending.pop()
        for found in _scan(root, folder):
            path = f"{folder}{found.name}"
            if not keep(path, found.is_dir(follow_symlinks=False)):
                continue
            if len(entries) + len(problems) == limits.max_entries:
                raise refused(f"more than {limits.max_entries} files and directories")
            try:
                entry = _entry(found, path)
                names.add(path, directory=entry.directory)
            except SealedDataError as error:
                problems.append(Issue(shown(path)[:MAX_ISSUE_PATH], error.message))
                continue
            entries.append(entry)
            if entry.directory:
                pending.append(f"{path}/")
    _require_good(problems)
    files = [entry for entry in entries if not entry.directory]
    _require_size(files, limits)
    if not files:
        raise refused("there is no file in the directory")
    return tuple(sorted(entries, key=lambda entry: entry.path.encode()))


_NAMED: Final = 5


def _require_good(problems: list[Issue]) -> None:
    if not problems:
        return
    problems.sort(key=lambda issue: issue.path)
    if len(problems) == 1:
        raise SealedDataError(Failure.ARCHIVE_REFUSED, problems[0].message)
    message = f"the archive is refused: {len(problems)} entries are not allowed in it"
    raise SealedDataError(Failure.ARCHIVE_REFUSED, message, shown_issues(problems))


def _require_size(files: list[ArchiveEntry], limits: ArchiveLimits) -> None:
    if (total := sum(entry.size for entry in files)) <= limits.max_bytes:
        return
    largest = sorted(files, key=lambda entry: (-entry.size, entry.path))[:_NAMED]
    named = ", ".join(f"{shown(entry.path)} ({shown_size(entry.size)})" for entry in largest)
    raise refused(
        f"{shown_size(total)} in {len(files)} files, more than {shown_size(limits.max_bytes)}; the largest: {named}"
    )


def comment_header(text: str) -> bytes:
    """Return the blocks of a global pax header with a comment, which tar programs skip."""
    return _extension(b"g", _pax_record(b"comment", text.encode()))


def tar_length(entries: tuple[ArchiveEntry, ...], head: bytes = b"") -> int:
    """Return how many bytes ``tar_blocks`` yields."""
    return len(head) + sum(len(entry.header()) + entry.size + -entry.size % BLOCK for entry in entries) + len(_END)


def tar_blocks(root: Path, entries: tuple[ArchiveEntry, ...], head: bytes = b"") -> "Iterator[Block]":
    """Yield the tar stream, after the blocks ``head``. A block may be reused once the next one is requested."""
    buffer = memoryview(bytearray(_READ))
    yield head
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


def _entry(found: os.DirEntry[str], path: str) -> ArchiveEntry:
    status = found.stat(follow_symlinks=False)
    if stat.S_ISDIR(status.st_mode):
        return ArchiveEntry(path, 0, directory=True, executable=True)
    if stat.S_ISREG(status.st_mode):
        if status.st_size > _MAX_SIZE:
            raise refused(f"{shown(path)} is larger than {_MAX_SIZE} bytes")
        return ArchiveEntry(path, status.st_size, directory=False, executable=bool(status.st_mode & 0o100))
    kind = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "neither a file nor a directory"
    raise refused(f"{shown(path)} is {kind}")


def _content(root: Path, entry: ArchiveEntry, buffer: memoryview) -> "Iterator[Block]":
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


def _extension(kind: bytes, record: bytes) -> bytes:
    """Return a pax header of one record."""
    return _header(_PAX_NAME, 0o644, len(record), kind, bytes(8)) + record + bytes(-len(record) % BLOCK)


def _header(name: bytes, mode: int, size: int, kind: bytes, device: bytes) -> bytes:
    """Return one ustar header block; name cut to its field, owner, times and link empty."""
    before = name[:_NAME_FIELD].ljust(_NAME_FIELD, b"\0") + b"%07o\0" % mode + b"0000000\0" * 2
    before += b"%011o\0" % size + b"00000000000\0"
    after = kind + bytes(100) + b"ustar\x0000" + bytes(64) + device * 2 + bytes(167)
    checksum = sum(before) + sum(after) + 8 * ord(" ")
    return before + b"%06o\0 " % checksum + after


def _pax_record(key: bytes, value: bytes) -> bytes:
    """``<length> <key>=<value>\\n``, the length counting its own digits."""
    rest = b" " + key + b"=" + value + b"\n"
    length = len(rest) + 1
    while len(str(length)) + len(rest) != length:
        length += 1
    return str(length).encode() + rest
