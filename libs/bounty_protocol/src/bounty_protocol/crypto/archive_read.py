"""Unpacking a tar stream of any tool into a fresh directory, trusting nothing in it.

Writes only regular files (0600) and directories (0700) below the given directory; memory does not grow with the
content; what is left after the archive's end must be zeros. Accepts ustar, pax and GNU long names, as tar programs
write by default. Links, devices, sparse and other special entries, names that ``archive`` refuses and archives above
the limits are ``archive_refused``; broken or cut archives are ``archive_malformed``. Names that tools obey are laid out
as ``inert_names`` has them, unless the original ones are asked for.
"""

import errno
import os
import re
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bounty_protocol.crypto.age_stream import Block
from bounty_protocol.crypto.archive import BLOCK, ArchiveLimits, ArchiveNames, refused, shown, shown_size
from bounty_protocol.crypto.background import Background
from bounty_protocol.crypto.failures import Failure, OutputFailed, SealedDataError
from bounty_protocol.crypto.inert_names import inert_path
from bounty_protocol.domain.envelope.binding import Binding, take_comment

_MAX_EXTENSION: Final = 64 * 1024
_LARGE: Final = 4 * 1024 * 1024
_GATHERED: Final = 16
"""Chunks that are written together, when a file is large."""
_FILES: Final = (tarfile.REGTYPE, tarfile.AREGTYPE)
_SPARSE: Final = "GNU.sparse."
_MAX_DIGITS: Final = 19
"""Digits of a pax record's length."""
_NUMBERS: Final = tuple(
    slice(start, end)
    for start, end in ((100, 108), (108, 116), (116, 124), (124, 136), (136, 148), (148, 156), (329, 337), (337, 345))
)
"""The fields of a header that hold numbers."""
_BINARY: Final = (b"\x80", b"\xff")
_OCTAL: Final = re.compile(rb" *[0-7]* *(?:\0.*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The contents of an archive."""

    file_count: int
    byte_length: int
    binding: Binding | None = None
    """The bounty and Solver that its global headers name."""
    inert: tuple[str, ...] = ()
    """Paths, as they were laid out, whose last part got another name than the archive has."""


def unpack(
    chunks: Iterator[Block], directory: Path, limits: ArchiveLimits, *, original_names: bool = False
) -> Unpacked:
    """Unpack into an empty directory. On any refusal the caller removes the directory with what is in it."""
    stream, names, comments, layout = (
        _Stream(chunks),
        ArchiveNames(limits),
        _Comments(),
        _Layout(directory, original_names),
    )
    count = total = 0
    for entry in _entries(stream, comments, limits.max_headers):
        if _is_root(entry):
            continue
        path = _relative(entry)
        names.add(path, directory=entry.isdir())
        target = layout.of(path, directory=entry.isdir())
        if entry.isdir():
            _make_directory(target)
            continue
        count, total = count + 1, total + entry.size
        if total > limits.max_bytes:
            raise refused(f"more than {shown_size(limits.max_bytes)} of files")
        _write_file(stream, target, entry.size)
    stream.expect_only_zeros()
    if not count:
        raise refused("there is no file in it")
    return Unpacked(count, total, comments.binding, tuple(layout.inert))


_OF_MACHINE: Final = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "permission denied",
    errno.EROFS: "the file system is read-only",
    errno.EIO: "the disk refused",
}
_OF_NAMES: Final = {
    errno.ENAMETOOLONG: "a name is too long for this file system",
    errno.EEXIST: "two names are the same on this file system",
}


def writing_failed(error: OSError) -> SealedDataError:
    """Return the ``OutputFailed`` for an output that cannot be written, with a plain message."""
    number = error.errno or 0
    if (reason := _OF_MACHINE.get(number)) is not None:
        return OutputFailed(f"cannot write the output: {reason}")
    reason = _OF_NAMES.get(number, "the file system refused")
    return SealedDataError(Failure.OUTPUT_REFUSED, f"cannot write the output: {reason}")


class _Layout:
    """Where each entry goes, and which names were changed on the way."""

    def __init__(self, directory: Path, original_names: bool) -> None:
        self._directory = directory
        self._original_names = original_names
        self.inert: dict[str, None] = {}

    def of(self, path: str, *, directory: bool) -> Path:
        laid_out = path if self._original_names else inert_path(path, directory=directory)
        if laid_out != path:
            before, after = path.split("/"), laid_out.split("/")
            changed = (depth for depth, part in enumerate(after) if part != before[depth])
            self.inert.update(dict.fromkeys("/".join(after[: depth + 1]) for depth in changed))
        return self._directory / laid_out


class _Stream:
    """Chunks of any size, taken in exact amounts."""

    def __init__(self, chunks: Iterator[Block]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def take(self, size: int) -> bytes:
        parts: list[bytes] = []
        self.copy(size, lambda part: parts.append(bytes(part)))
        return b"".join(parts)

    def copy(self, size: int, write: Callable[[memoryview], object]) -> None:
        while size:
            if not self._rest:
                self._rest = memoryview(next(self._chunks, b""))
                if not self._rest:
                    raise _malformed("it ends early")
            part = self._rest[:size]
            write(part)
            size -= len(part)
            self._rest = self._rest[len(part) :]

    def skip_padding(self, size: int) -> None:
        self.copy(-size % BLOCK, len)

    def expect_only_zeros(self) -> None:
        rest: Block = self._rest or next(self._chunks, b"")
        while rest:
            if bytes(rest).strip(b"\0"):
                raise _malformed("data follows its end")
            rest = next(self._chunks, b"")


class _Comments:
    """The comments of global headers, of which only the binding is kept."""

    binding: Binding | None = None

    def take(self, records: list[tuple[str, str]]) -> None:
        for key, value in records:
            if key in {"path", "size", "linkpath"}:
                raise refused("a global header that names files")
            if key == "comment":
                try:
                    self.binding = take_comment(self.binding, value)
                except ValueError as error:
                    raise _malformed(f"its binding: {error}") from None


def _entries(stream: _Stream, comments: _Comments, max_headers: int) -> Iterator[tarfile.TarInfo]:
    """Yield files and directories, with names and sizes of extension headers applied."""
    longname: str | None = None
    records: dict[str, str] = {}
    headers = 0
    while any(block := stream.take(BLOCK)):
        headers += 1
        if headers > max_headers:
            raise refused(f"more than {max_headers} headers")
        entry = _header(block)
        if entry.type == tarfile.GNUTYPE_LONGNAME:
            longname = _text(_extension(stream, entry).rstrip(b"\0"))
        elif entry.type == tarfile.XHDTYPE:
            records = dict(pax_records(_extension(stream, entry)))
        elif entry.type == tarfile.XGLTYPE:
            comments.take(pax_records(_extension(stream, entry)))
        elif entry.type in _FILES or entry.isdir():
            yield _applied(entry, longname, records)
            stream.skip_padding(0 if entry.isdir() else entry.size)
            longname, records = None, {}
        else:
            raise refused(f"{shown(entry.name)} is a link, a device or another special entry")
    if any(stream.take(BLOCK)) or longname is not None or records:
        raise _malformed("its end mark is incomplete")


def _header(block: bytes) -> tarfile.TarInfo:
    """Parse an entry's header; refuse numbers that only Python reads, such as ``0o644``."""
    fields = (block[number] for number in _NUMBERS)
    if not all(field.startswith(_BINARY) or _OCTAL.fullmatch(field) for field in fields):
        raise _malformed("an entry's header cannot be read")
    try:
        entry = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError):
        raise _malformed("an entry's header cannot be read") from None
    if entry.size < 0:
        raise _malformed("an entry has a negative size")
    return entry


def _extension(stream: _Stream, entry: tarfile.TarInfo) -> bytes:
    if entry.size > _MAX_EXTENSION:
        raise refused("an extension header that is too large")
    data = stream.take(entry.size)
    stream.skip_padding(entry.size)
    return data


def pax_records(data: bytes) -> list[tuple[str, str]]:
    """Records ``<length> <key>=<value>\\n``, each exactly as long as it states, in linear time."""
    records: list[tuple[str, str]] = []
    start = 0
    while start < len(data):
        space = data.find(b" ", start, start + _MAX_DIGITS + 1)
        digits = data[start:space] if space > start else b""
        end = start + int(digits) if digits.isdigit() else -1
        if not space < end <= len(data):
            raise _malformed("a pax record states a wrong length")
        key, found, value = data[space + 1 : end].partition(b"=")
        if not (found and value.endswith(b"\n")):
            raise _malformed("a pax record cannot be read")
        records.append((_text(key), _text(value[:-1])))
        start = end
    if any(key.startswith(_SPARSE) for key, _ in records):
        raise refused("a sparse file")
    return records


def _applied(entry: tarfile.TarInfo, longname: str | None, records: dict[str, str]) -> tarfile.TarInfo:
    entry.name = records.get("path", longname if longname is not None else entry.name)
    size = records.get("size")
    if size is not None:
        if not (size.isascii() and size.isdigit() and len(size) <= 18):
            raise _malformed("a pax size cannot be read")
        entry.size = int(size)
    if entry.isdir():
        entry.size = 0
    return entry


def _is_root(entry: tarfile.TarInfo) -> bool:
    """Return whether this is the archived directory itself, which tar programs write as ``.`` or ``./``."""
    return entry.isdir() and entry.name in {".", "./"}


def _relative(entry: tarfile.TarInfo) -> str:
    """Return the entry's path without the ``./`` and the trailing slash that tar programs write."""
    name = entry.name.removeprefix("./")
    return name.removesuffix("/") if entry.isdir() else name


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        _make_directory(path.parent)
        path.mkdir(mode=0o700)
    except OSError as error:
        raise writing_failed(error) from None


def _write_file(stream: _Stream, path: Path, size: int) -> None:
    _make_directory(path.parent)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            if size < _LARGE:
                stream.copy(size, lambda part: _write_all(file.fileno(), part))
            else:
                _write_large(stream, file.fileno(), size)
    except OSError as error:
        raise writing_failed(error) from None


def _write_large(stream: _Stream, descriptor: int, size: int) -> None:
    """Write in a separate thread, so as not to wait for the file system."""

    def write(parts: list[memoryview]) -> None:
        written = os.writev(descriptor, parts)
        for part in parts:  # a full disk or a signal may have let it take less
            _write_all(descriptor, part[written:])
            written = max(0, written - len(part))

    gathered: list[memoryview] = []
    with Background(write, "unpack") as writer:

        def add(part: memoryview) -> None:
            gathered.append(part)
            if len(gathered) == _GATHERED:
                writer.give(gathered.copy())
                gathered.clear()

        stream.copy(size, add)
        if gathered:  # a call without parts is refused on macOS
            writer.give(gathered)
        writer.finish()


def _write_all(descriptor: int, part: memoryview) -> None:
    while part:
        part = part[os.write(descriptor, part) :]


def _malformed(what: str) -> SealedDataError:
    return SealedDataError(Failure.ARCHIVE_MALFORMED, f"the archive cannot be read: {what}")
