"""Deterministic archives: the same content is the same bytes, and nothing odd gets in."""

import os
import socket
import subprocess
import unicodedata
from pathlib import Path

import pytest
from bounty_protocol.crypto.archive import ArchiveLimits
from bounty_protocol.crypto.archive_write import comment_header, list_directory, tar_blocks
from bounty_protocol.crypto.code_points import UNASSIGNED_RANGES
from bounty_protocol.crypto.failures import Failure, SealedDataError

from tests.protocol.crypto.trees import (
    FILES,
    LIMITS,
    make,
    pack,
)
from tests.vectors.samples import BINDING


def test_same_content_is_the_same_bytes(tmp_path: Path) -> None:
    one = make(tmp_path / "one")
    two = make(tmp_path / "two", dict(reversed(FILES.items())))
    for path in two.rglob("*"):
        os.utime(path, (1, 1))
    (two / "a.txt").chmod(0o600)
    (two / "sub").chmod(0o700)
    assert pack(one) == pack(two)
    (two / "a.txt").chmod(0o755)
    assert pack(one) != pack(two)


FORMATS = Path(__file__).parents[3] / "docs/formats.md"
(GNU_TAR,) = [line.strip() for line in FORMATS.read_text().splitlines() if "globexthdr" in line]


@pytest.mark.parametrize("length", [1, 90, 99, 100, 101, 155, 200, 255])
def test_archive_is_what_gnu_tar_makes(length: int, tmp_path: Path) -> None:
    root = make(tmp_path / "d", {**FILES, "n" * length: b"n", "d" * length + "/" + "f" * length: b"f"})
    (root / "a.txt").chmod(0o755)
    (root / "empty").mkdir()
    environment = {**os.environ, "BINDING": BINDING.text()}
    done = subprocess.run(["bash", "-c", GNU_TAR], cwd=root, env=environment, check=True, capture_output=True)
    assert pack(root, head=comment_header(BINDING.text())) == with_device_numbers(done.stdout)


def with_device_numbers(archive: bytes) -> bytes:
    """An archive as GNU tar wrote it before its release 1.35, which leaves the device numbers of its entries empty."""
    written, place = bytearray(archive), 0
    while written[place : place + 512].strip(b"\0"):
        header = written[place : place + 512]
        if header[156] not in b"xg":
            header[329:345] = b"0000000\0" * 2
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header)
        written[place : place + 512] = header
        place += 512 + -(-int(header[124:135], 8) // 512) * 512
    return bytes(written)


def _link(root: Path) -> None:
    (root / "link").symlink_to("a.txt")


def _directory_link(root: Path) -> None:
    (root / "link").symlink_to(".")


def _fifo(root: Path) -> None:
    os.mkfifo(root / "fifo")


def _socket(root: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "s"))


def _newline(root: Path) -> None:
    (root / "a\nb").write_bytes(b"")


def _escape(root: Path) -> None:
    (root / "a\x1b[2J").write_bytes(b"")


def _backslash(root: Path) -> None:
    (root / "a\\b").write_bytes(b"")


def _not_utf8(root: Path) -> None:
    Path(os.fsdecode(os.fsencode(root) + b"/\xff")).write_bytes(b"")


def _case(root: Path) -> None:
    (root / "A.TXT").write_bytes(b"")


def _case_of_directories(root: Path) -> None:
    make(root, {"Sub/other": b""})


def _normal_form(root: Path) -> None:
    make(root, {"e\u0301": b"", "\u00e9": b""})


def _new_letter(root: Path) -> None:
    make(root, {"\u0264.py": b"", "\ua7cb.py": b""})


def _deep(root: Path) -> None:
    make(root, {"/".join("d" * 40): b""})


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_link, "symbolic link"),
        (_directory_link, "symbolic link"),
        (_fifo, "neither"),
        (_socket, "neither"),
        (_newline, "control characters"),
        (_escape, "control characters"),
        (_backslash, "backslash"),
        (_not_utf8, "UTF-8"),
        (_case, "letter case"),
        (_case_of_directories, "letter case"),
        (_normal_form, "letter case"),
        (_new_letter, "Unicode 14"),
        (_deep, "too deep"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_directory_with_something_odd_is_refused(spoil, said: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    root = make(tmp_path / "d")
    assert pack(root)
    spoil(root)
    with pytest.raises(SealedDataError) as refusal:
        pack(root)
    assert refusal.value.failure is Failure.ARCHIVE_REFUSED
    assert said in refusal.value.message
    assert refusal.value.message.isprintable()


@pytest.mark.parametrize("files", [{}, {"empty/": b""}])
def test_archive__without_a_file__refused(files: dict[str, bytes], tmp_path: Path) -> None:
    root = tmp_path / "d"
    root.mkdir()
    for name in files:
        (root / name).mkdir()
    with pytest.raises(SealedDataError, match="no file"):
        pack(root)


def test_archive_of_no_directory_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", make(tmp_path) / "a.txt"):
        with pytest.raises(SealedDataError, match="cannot read"):
            pack(path)


def test_limits_of_packing_are_exact(tmp_path: Path) -> None:
    root = make(tmp_path / "d", {"a": b"12345", "b/c": b"678"})
    assert pack(root, ArchiveLimits(max_entries=3, max_bytes=8))
    with pytest.raises(SealedDataError, match="more than 2 files"):
        pack(root, ArchiveLimits(max_entries=2))
    with pytest.raises(SealedDataError, match="more than 7 bytes"):
        pack(root, ArchiveLimits(max_bytes=7))


@pytest.mark.parametrize(("size", "limit", "said"), [(4 * 2**30, 2**30, "more than"), (2**33, 2**40, "larger than")])
def test_huge_file_is_refused_unread(size: int, limit: int, said: str, tmp_path: Path) -> None:
    root = make(tmp_path / "d")
    with (root / "huge").open("wb") as file:
        file.truncate(size)  # sparse: it takes no room
    with pytest.raises(SealedDataError, match=said):
        pack(root, ArchiveLimits(max_bytes=limit))
    with (root / "huge").open("wb") as file:
        file.truncate(2**33 - 1)
    assert len(list_directory(root, ArchiveLimits(max_bytes=2**40))) == len(FILES) + 3


def test_unassigned_is_what_unicode_14_lacks() -> None:
    kept = {code for first, last in UNASSIGNED_RANGES for code in range(first, last + 1)}
    here = {code for code in range(0x110000) if unicodedata.category(chr(code)) == "Cn"}
    assert here == kept if unicodedata.unidata_version == "14.0.0" else here < kept


@pytest.mark.parametrize("change", ["shorter", "longer", "gone", "link"])
def test_file_changed_after_listing_is_refused(change: str, tmp_path: Path) -> None:
    root = make(tmp_path / "d")
    entries = list_directory(root, LIMITS)
    target = root / "sub/deep/c.bin"
    target.unlink()
    if change == "link":
        make(tmp_path, {"secret": FILES["sub/deep/c.bin"]})
        target.symlink_to(tmp_path / "secret")
    elif change != "gone":
        target.write_bytes(b"x" if change == "shorter" else b"x" * 20_000)
    with pytest.raises(SealedDataError):
        list(tar_blocks(root, entries))


def test_every_bad_entry_is_named(tmp_path: Path) -> None:
    root = tmp_path / "d"
    root.mkdir()
    (root / "good").write_text("x")
    (root / "link").symlink_to("good")
    os.mkfifo(root / "pipe")
    with pytest.raises(SealedDataError) as refused:
        list_directory(root, LIMITS)
    assert [issue.path for issue in refused.value.issues] == ["'link'", "'pipe'"]
    assert list_directory(root, LIMITS, lambda path, _directory: path == "good")


def test_limit_names_the_largest_files(tmp_path: Path) -> None:
    root = tmp_path / "d"
    root.mkdir()
    for name, size in (("a", 10), ("b", 3_000), ("c", 2_000)):
        (root / name).write_bytes(bytes(size))
    with pytest.raises(
        SealedDataError, match=r"4\.9 KiB in 3 files, more than 2 KiB; the largest: 'b' \(2\.9 KiB\), 'c'"
    ):
        list_directory(root, ArchiveLimits(max_bytes=2_048))
