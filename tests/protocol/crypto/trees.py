"""Directories and archives for the archive tests: made, packed, unpacked, compared."""

import io
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from bounty_protocol.crypto.archive import ArchiveLimits
from bounty_protocol.crypto.archive_read import Unpacked, unpack
from bounty_protocol.crypto.archive_write import list_directory, tar_blocks
from bounty_protocol.crypto.failures import SealedDataError

LIMITS = ArchiveLimits()
FILES = {"a.txt": b"hello\n", "sub/b": b"", "sub/deep/c.bin": bytes(range(256)) * 40, "z\u00e9.md": b"x" * 512}


def make(root: Path, files: dict[str, bytes] = FILES) -> Path:
    """A directory with these files."""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def pack(root: Path, limits: ArchiveLimits = LIMITS, head: bytes = b"") -> bytes:
    return b"".join(bytes(block) for block in tar_blocks(root, list_directory(root, limits), head))


def tar_of(*entries: tarfile.TarInfo, contents: bytes = b"data", style: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=style) as archive:
        for entry in entries:
            if entry.isreg():
                entry.size = len(contents)
            archive.addfile(entry, io.BytesIO(contents) if entry.isreg() else None)
    return buffer.getvalue()


def entry_of(name: str, kind: bytes = tarfile.REGTYPE, **fields: object) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type = kind
    for field, value in fields.items():
        setattr(entry, field, value)
    return entry


def chunks_of(data: bytes, size: int = 1_000) -> Iterator[bytes]:
    return iter([data[start : start + size] for start in range(0, len(data), size)])


def unpack_into(data: bytes, directory: Path, limits: ArchiveLimits = LIMITS, size: int = 1_000) -> Unpacked:
    directory.mkdir()
    return unpack(chunks_of(data, size), directory, limits)


def refusal_of(data: bytes, tmp_path: Path, limits: ArchiveLimits = LIMITS) -> SealedDataError:
    with pytest.raises(SealedDataError) as refusal:
        unpack_into(data, tmp_path / "out", limits)
    shutil.rmtree(tmp_path / "out")
    return refusal.value


def tree(root: Path) -> dict[str, bytes]:
    """Every file below a directory."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
