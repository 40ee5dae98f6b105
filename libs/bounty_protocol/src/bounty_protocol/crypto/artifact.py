"""Sealing a directory into one age file and opening it again, in constant memory.

Sealing computes the digest and length for the envelope in the same pass that writes. Opening puts files in place only
after the whole ciphertext matched the envelope's digest, every chunk was authentic, and the archive was sealed for this
bounty by this Solver. What is refused: see ``archive`` (contents), ``age`` (file), ``output`` (targets). A ciphertext
that is not the committed one is always reported as that (``ciphertext_mismatch``), so that a bad download is never
taken for a bad Submission.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

from bounty_protocol.crypto import age
from bounty_protocol.crypto.age_stream import Block
from bounty_protocol.crypto.archive import ArchiveLimits, Progress
from bounty_protocol.crypto.archive_read import Unpacked, unpack
from bounty_protocol.crypto.archive_write import ArchiveEntry, comment_header, list_directory, tar_blocks, tar_length
from bounty_protocol.crypto.background import Background
from bounty_protocol.crypto.binding import check_binding
from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.crypto.output import new_directory, new_file
from bounty_protocol.crypto.x25519 import Identity, Randomness
from bounty_protocol.domain.envelope.binding import Binding
from bounty_protocol.types import Bytes32, bytes32

T = TypeVar("T", bytes, memoryview)
_READ: Final = 1024 * 1024
_DEFAULT_LIMITS: Final = ArchiveLimits()


@dataclass(frozen=True, slots=True)
class SealedArtifact:
    """The ciphertext an envelope refers to."""

    sha256: Bytes32
    byte_length: int
    file_count: int


def seal_directory(
    directory: Path,
    content_public_key: Bytes32,
    binding: Binding,
    out_file: Path,
    *,
    entries: tuple[ArchiveEntry, ...] | None = None,
    progress: Progress | None = None,
    limits: ArchiveLimits = _DEFAULT_LIMITS,
    randomness: Randomness = os.urandom,
) -> SealedArtifact:
    """Seal a directory for one content identity into a new file (0600), with the bounty and Solver it is for.

    ``entries`` are what ``list_directory`` returned for it, if not everything in it is sealed.
    """
    entries = list_directory(directory, limits) if entries is None else entries
    head = comment_header(binding.text())
    blocks: Iterator[Block] = tar_blocks(directory, entries, head)
    if progress is not None:
        blocks = _reporting(blocks, tar_length(entries, head), progress)
    with new_file(out_file) as file, _BackgroundSha256() as digest, Background(_writing(file), "write") as writer:
        sink = _DigestingSink(writer, digest)
        age.encrypt(blocks, sink, [content_public_key], randomness)
        writer.finish()
        sha256 = digest.value()
    file_count = sum(not entry.directory for entry in entries)
    return SealedArtifact(sha256, sink.byte_length, file_count)


def open_artifact(
    ciphertext: Path | BufferedIOBase,
    identity: Identity,
    output_dir: Path,
    *,
    sha256: Bytes32,
    byte_length: int,
    expected: Binding,
    progress: Progress | None = None,
    limits: ArchiveLimits = _DEFAULT_LIMITS,
    original_names: bool = False,
    ready: Callable[[Path], None] = lambda _directory: None,
) -> Unpacked:
    """Open a ciphertext of the given digest and length into a new directory (files 0600, directories 0700).

    Names that tools act on are changed to inert ones (``inert_names``), unless ``original_names`` is set. Its
    archive must name the ``expected`` bounty and Solver. ``ready`` is called with the complete directory before it is
    renamed to ``output_dir``.
    """
    with (
        ciphertext.open("rb") if isinstance(ciphertext, Path) else nullcontext(ciphertext) as file,
        new_directory(output_dir) as directory,
        _BackgroundSha256() as digest,
    ):
        if os.fstat(file.fileno()).st_size != byte_length:
            raise ciphertext_mismatch()
        source = _DigestingFile(file, digest, byte_length, progress)
        try:
            plain = age.decrypt(source, [identity], recipients=1)
            unpacked = unpack(plain, directory, limits, original_names=original_names)
        except SealedDataError:
            _check(source, digest, (sha256, byte_length))
            raise
        _check(source, digest, (sha256, byte_length))
        check_binding(expected, unpacked.binding, "the archive")
        ready(directory)
    return unpacked


class _BackgroundSha256(Background[Block]):
    """SHA-256 of a stream, kept by a second thread."""

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256()
        super().__init__(self._sha256.update, "sha256")

    def value(self) -> Bytes32:
        """Return the digest of everything given so far; waits until all of it is hashed."""
        self.finish()
        return bytes32(self._sha256.digest())


class _DigestingSink:
    """Passes blocks on to the threads that write and hash them, and counts their length."""

    def __init__(self, writer: Background[Block], digest: _BackgroundSha256) -> None:
        self._writer = writer
        self._digest = digest
        self.byte_length = 0

    def write(self, data: Block, /) -> None:
        """Write the whole block."""
        self._writer.give(data)
        self._digest.give(data)
        self.byte_length += len(data)


class _DigestingFile:
    """Passes reads on, keeps their SHA-256 and length, and reports progress."""

    def __init__(self, file: BufferedIOBase, digest: _BackgroundSha256, total: int, progress: Progress | None) -> None:
        self._file = file
        self._digest = digest
        self._total = total
        self._progress = progress
        self.byte_length = 0

    def read(self, size: int, /) -> bytes:
        """Read at most ``size`` bytes; none at the end."""
        return self._counted(self._file.read(size))

    def readline(self, size: int, /) -> bytes:
        """Read a line, or its first ``size`` bytes."""
        return self._counted(self._file.readline(size))

    def readinto(self, memory: memoryview, /) -> int:
        """Read into memory; return how many bytes, 0 at the end."""
        return len(self._counted(memory[: self._file.readinto(memory)]))

    def _counted(self, data: T) -> T:
        if data:
            self._digest.give(data)
            self.byte_length += len(data)
            if self._progress is not None:
                self._progress(self.byte_length, self._total)
        return data


def _check(source: _DigestingFile, digest: _BackgroundSha256, wanted: tuple[str, int]) -> None:
    """Read to the end and raise ``ciphertext_mismatch`` unless this was the committed ciphertext."""
    while source.read(_READ):
        pass
    if (digest.value(), source.byte_length) != wanted:
        raise ciphertext_mismatch()


def _writing(file: BinaryIO) -> Callable[[Block], None]:
    def write(block: Block) -> None:
        view = memoryview(block)
        while view:  # a raw file may take less at a time
            view = view[file.write(view) :]

    return write


def _reporting(blocks: Iterator[Block], total: int, progress: Progress) -> Iterator[Block]:
    done = 0
    for block in blocks:
        yield block
        done += len(block)
        progress(done, total)


def ciphertext_mismatch() -> SealedDataError:
    """Return the refusal for bytes to which the envelope does not commit."""
    message = "the ciphertext is not the one the envelope commits to: its digest or length differs"
    return SealedDataError(Failure.CIPHERTEXT_MISMATCH, message)
