"""Deterministic archives: made here, read from anywhere, trusted never."""

import io
import os
import shutil
import socket
import stat
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from service_common.crypto.archive import ArchiveLimits, Names
from service_common.crypto.archive_read import Unpacked, unpack
from service_common.crypto.archive_write import list_directory, tar_blocks, tar_length
from service_common.crypto.failures import Failure, SealedDataError

LIMITS = ArchiveLimits()
FILES = {"a.txt": b"hello\n", "sub/b": b"", "sub/deep/c.bin": bytes(range(256)) * 40, "z\u00e9.md": b"x" * 512}


def make(root: Path, files: dict[str, bytes] = FILES) -> Path:
    """A directory with these files."""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def pack(root: Path, limits: ArchiveLimits = LIMITS) -> bytes:
    return b"".join(bytes(block) for block in tar_blocks(root, list_directory(root, limits)))


def _tar(*entries: tarfile.TarInfo, contents: bytes = b"data", style: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=style) as archive:
        for entry in entries:
            if entry.isreg():
                entry.size = len(contents)
            archive.addfile(entry, io.BytesIO(contents) if entry.isreg() else None)
    return buffer.getvalue()


def _entry(name: str, kind: bytes = tarfile.REGTYPE, **fields: object) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type = kind
    for field, value in fields.items():
        setattr(entry, field, value)
    return entry


def _chunks(data: bytes, size: int = 1_000) -> Iterator[bytes]:
    return iter([data[start : start + size] for start in range(0, len(data), size)])


def _unpack(data: bytes, directory: Path, limits: ArchiveLimits = LIMITS, size: int = 1_000) -> Unpacked:
    directory.mkdir()
    return unpack(_chunks(data, size), directory, limits)


def _refusal(data: bytes, tmp_path: Path, limits: ArchiveLimits = LIMITS) -> SealedDataError:
    with pytest.raises(SealedDataError) as refusal:
        _unpack(data, tmp_path / "out", limits)
    shutil.rmtree(tmp_path / "out")
    return refusal.value


def tree(root: Path) -> dict[str, bytes]:
    """Every file below a directory."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


# --- making


def test_archive__same_content_made_differently__the_same_bytes(tmp_path: Path) -> None:
    one = make(tmp_path / "one")
    two = make(tmp_path / "two", dict(reversed(FILES.items())))
    for path in two.rglob("*"):
        os.utime(path, (1, 1))
    (two / "a.txt").chmod(0o600)
    (two / "sub").chmod(0o700)
    assert pack(one) == pack(two)
    (two / "a.txt").chmod(0o755)
    assert pack(one) != pack(two)


def test_archive__as_made__is_what_the_format_page_says(tmp_path: Path) -> None:
    data = pack(make(tmp_path / "d"))
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        members = archive.getmembers()
    assert [member.name for member in members] == ["a.txt", "sub", "sub/b", "sub/deep", "sub/deep/c.bin", "z\u00e9.md"]
    assert {member.mode for member in members if member.isreg()} == {0o644}
    assert {member.mode for member in members if member.isdir()} == {0o755}
    assert {(member.uid, member.gid, member.uname, member.gname, member.mtime) for member in members} == {
        (0, 0, "", "", 0)
    }
    assert data.endswith(bytes(1024))
    assert len(data) == tar_length(list_directory(tmp_path / "d", LIMITS))


def test_archive__entries__in_byte_order_of_their_paths(tmp_path: Path) -> None:
    root = make(tmp_path / "d", dict.fromkeys(("a/x", "a.b", "a0", "B", "é", "z"), b""))
    assert [entry.path for entry in list_directory(root, LIMITS)] == ["B", "a", "a.b", "a/x", "a0", "z", "\u00e9"]


FORMATS = Path(__file__).parents[3] / "docs/formats.md"
(GNU_TAR,) = [line.strip() for line in FORMATS.read_text().splitlines() if "--pax-option" in line]


@pytest.mark.parametrize("length", [1, 90, 99, 100, 101, 155, 200, 255])
def test_archive__as_made__byte_for_byte_what_gnu_tar_makes(length: int, tmp_path: Path) -> None:
    root = make(tmp_path / "d", {**FILES, "n" * length: b"n", "d" * length + "/" + "f" * length: b"f"})
    (root / "a.txt").chmod(0o755)
    (root / "empty").mkdir()
    done = subprocess.run(["bash", "-c", GNU_TAR], cwd=root, check=True, capture_output=True)
    assert pack(root) == done.stdout


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
        (_deep, "too deep"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_archive__of_a_directory_with_something_odd__refused(spoil, said: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
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


def test_archive__of_something_that_is_no_directory__refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", make(tmp_path) / "a.txt"):
        with pytest.raises(SealedDataError, match="cannot read"):
            pack(path)


def test_archive__limits__the_last_allowed_and_the_first_refused(tmp_path: Path) -> None:
    root = make(tmp_path / "d", {"a": b"12345", "b/c": b"678"})
    assert pack(root, ArchiveLimits(max_entries=3, max_bytes=8))
    with pytest.raises(SealedDataError, match="more than 2 files"):
        pack(root, ArchiveLimits(max_entries=2))
    with pytest.raises(SealedDataError, match="more than 7 bytes"):
        pack(root, ArchiveLimits(max_bytes=7))


@pytest.mark.parametrize(("size", "limit", "said"), [(4 * 2**30, 2**30, "more than"), (2**33, 2**40, "larger than")])
def test_archive__a_huge_file__refused_before_it_is_read(size: int, limit: int, said: str, tmp_path: Path) -> None:
    root = make(tmp_path / "d")
    with (root / "huge").open("wb") as file:
        file.truncate(size)  # sparse: it takes no room
    with pytest.raises(SealedDataError, match=said):
        pack(root, ArchiveLimits(max_bytes=limit))
    with (root / "huge").open("wb") as file:
        file.truncate(2**33 - 1)
    assert len(list_directory(root, ArchiveLimits(max_bytes=2**40))) == len(FILES) + 3


def test_archive__names_without_end__refused_in_time() -> None:
    names = Names(ArchiveLimits(max_entries=1_000))
    for number in range(1_000):
        names.add(str(number), directory=False)
    with pytest.raises(SealedDataError, match="more than 1000"):
        names.add("one more", directory=False)


@pytest.mark.parametrize("change", ["shorter", "longer", "gone", "link"])
def test_archive__file_changes_between_listing_and_reading__refused(change: str, tmp_path: Path) -> None:
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


# --- opening


def test_unpack__our_own__the_same_files_all_private(tmp_path: Path) -> None:
    data = pack(make(tmp_path / "d"))
    for size in (1, 511, 512, 65_536):
        out = tmp_path / f"out{size}"
        found = _unpack(data, out, size=size)
        assert tree(out) == FILES
        assert found == Unpacked(len(FILES), sum(map(len, FILES.values())))
    assert {stat.S_IMODE(path.stat().st_mode) for path in out.rglob("*") if path.is_file()} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in out.rglob("*") if path.is_dir()} == {0o700}


@pytest.mark.parametrize("style", ["gnu", "pax", "ustar", "v7"])
@pytest.mark.parametrize("what", [".", "a.txt sub z\u00e9.md"])
def test_unpack__made_by_gnu_tar__the_same_files(style: str, what: str, tmp_path: Path) -> None:
    root = make(tmp_path / "d", {**FILES, "sub/" + "n" * (90 if style == "v7" else 99): b"long"})
    if style in {"gnu", "pax"}:
        make(root, {"l" * 120 + "/" + "m" * 200: b"longer"})
        what += "" if what == "." else " " + "l" * 120
    command = ["tar", f"--format={style}", "-cf", "-", "-C", str(root), *what.split()]
    done = subprocess.run(command, check=True, capture_output=True)
    _unpack(done.stdout, tmp_path / "out")
    assert tree(tmp_path / "out") == tree(root)


def test_unpack__read_by_gnu_tar__the_same_files(tmp_path: Path) -> None:
    root = make(tmp_path / "d", {**FILES, "l" * 120 + "/" + "m" * 200: b"longer"})
    (tmp_path / "out").mkdir()
    done = subprocess.run(
        ["tar", "-xf", "-", "-C", tmp_path / "out"], input=pack(root), check=True, capture_output=True
    )
    assert done.stderr == b""
    assert tree(tmp_path / "out") == tree(root)


SAFE = _entry("ok.txt")


@pytest.mark.parametrize(
    "entry",
    [
        _entry("../up"),
        _entry("a/../../up"),
        _entry("a/.."),
        _entry(".."),
        _entry("/etc/passwd"),
        _entry("//x"),
        _entry("/", tarfile.DIRTYPE),
        _entry("a//b"),
        _entry("a/./b"),
        _entry("./../x"),
        _entry(".//x"),
        _entry("a\\..\\b"),
        _entry("a\nb"),
        _entry("a\x7fb"),
        _entry("ok.txt"),
        _entry("OK.TXT"),
        _entry("ok.txt/child"),
        _entry("ok.txt", tarfile.DIRTYPE),
        _entry("d/" * 40 + "f"),
        _entry("n" * 256),
        _entry("link", tarfile.SYMTYPE, linkname="ok.txt"),
        _entry("link", tarfile.SYMTYPE, linkname="/etc"),
        _entry("link", tarfile.LNKTYPE, linkname="ok.txt"),
        _entry("dev", tarfile.CHRTYPE),
        _entry("dev", tarfile.BLKTYPE),
        _entry("fifo", tarfile.FIFOTYPE),
        _entry("cont", tarfile.CONTTYPE),
        _entry("sparse", tarfile.GNUTYPE_SPARSE),
        _entry("odd", b"Z"),
        _entry("long", tarfile.SYMTYPE, linkname="l" * 200),
        _entry("x", pax_headers={"GNU.sparse.major": "1", "GNU.sparse.realsize": str(2**40)}),
    ],
    ids=lambda entry: f"{entry.name[:12]!a}{entry.type!a}",
)
def test_unpack__an_entry_that_must_not_be__refused_and_nothing_outside(entry: tarfile.TarInfo, tmp_path: Path) -> None:
    assert _unpack(_tar(SAFE), tmp_path / "fine").file_count == 1
    before = set(tmp_path.rglob("*"))
    for style in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        if entry.pax_headers and style == tarfile.GNU_FORMAT:
            continue
        refusal = _refusal(_tar(SAFE, entry, style=style), tmp_path)
        assert refusal.failure is Failure.ARCHIVE_REFUSED
        assert refusal.message.isprintable()
    assert set(tmp_path.rglob("*")) == before


def test_unpack__file_through_a_planted_link__refused_before_it_is_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    link = _entry("d", tarfile.SYMTYPE, linkname=str(outside))
    _refusal(_tar(link, _entry("d/evil")), tmp_path)
    assert list(outside.iterdir()) == []


def test_unpack__global_header_naming_files__refused_but_a_comment_is_not(tmp_path: Path) -> None:
    for headers, fine in (({"comment": "abc"}, True), ({"path": "../x"}, False), ({"size": "9"}, False)):
        data = tarfile.TarInfo.create_pax_global_header(headers) + _tar(SAFE)
        if fine:
            assert _unpack(data, tmp_path / "fine").file_count == 1
        else:
            assert _refusal(data, tmp_path).failure is Failure.ARCHIVE_REFUSED


def test_unpack__limits__the_last_allowed_and_the_first_refused(tmp_path: Path) -> None:
    data = _tar(_entry("a"), _entry("b/c"))
    assert _unpack(data, tmp_path / "fine", ArchiveLimits(max_entries=3, max_bytes=8)).byte_length == 8
    assert "more than 2" in _refusal(data, tmp_path, ArchiveLimits(max_entries=2)).message
    assert "more than 7" in _refusal(data, tmp_path, ArchiveLimits(max_bytes=7)).message


def test_unpack__an_entry_that_claims_to_be_huge__refused_before_a_byte_is_written(tmp_path: Path) -> None:
    header = _entry("bomb", size=2**50).tobuf(tarfile.GNU_FORMAT)
    refusal = _refusal(header + bytes(512), tmp_path)
    assert refusal.failure is Failure.ARCHIVE_REFUSED
    assert "bytes" in refusal.message


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_unpack__an_endless_extension_header__refused_before_it_is_read(kind: bytes, tmp_path: Path) -> None:
    def endless() -> Iterator[bytes]:
        yield _entry("././@PaxHeader", kind, size=2**33).tobuf(tarfile.GNU_FORMAT)
        pytest.fail("read on")

    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(SealedDataError, match="too large"):
        unpack(endless(), out, LIMITS)


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"x",
        b"10 path=a",
        b"8 path=a\n",
        b"11 path=ab\n\n",
        b"999 path=a\n",
        b"-5 path=a\n",
        b"0 path=a\n",
        b"2 \n",
        b"10 path:ab\n",
        b"11 size=-1\n",
        b"13 size=1e3\n\n",
        b"99999999999999999999999 path=a\n",
    ],
)
def test_unpack__a_pax_record_that_lies__malformed_or_ignored(record: bytes, tmp_path: Path) -> None:
    header = _entry("././@PaxHeader", tarfile.XHDTYPE, size=len(record)).tobuf(tarfile.USTAR_FORMAT)
    data = header + record + bytes(-len(record) % 512) + _tar(SAFE)
    if record == b"":
        assert _unpack(data, tmp_path / "fine").file_count == 1
    else:
        assert _refusal(data, tmp_path).failure is Failure.ARCHIVE_MALFORMED


def test_unpack__cut_at_each_block__malformed(tmp_path: Path) -> None:
    data = pack(make(tmp_path / "d"))
    for place in range(0, len(data), 256):
        assert _refusal(data[:place], tmp_path).failure is Failure.ARCHIVE_MALFORMED


@pytest.mark.parametrize("size", [b"\xff" * 12, b"\xff" * 11 + b"\x00", b"-0000000001\x00", b"zzz"])
def test_unpack__a_size_below_zero_or_no_number__malformed(size: bytes, tmp_path: Path) -> None:
    block = bytearray(_entry("a").tobuf(tarfile.GNU_FORMAT))
    block[124:136] = size.ljust(12, b"\0")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    assert _refusal(bytes(block) + bytes(2_048), tmp_path).failure is Failure.ARCHIVE_MALFORMED


def test_unpack__something_after_the_end__malformed_but_padding_is_not(tmp_path: Path) -> None:
    data = pack(make(tmp_path / "d"))
    _unpack(data + bytes(10_240), tmp_path / "fine")
    assert _refusal(data + bytes(600) + b"x", tmp_path).failure is Failure.ARCHIVE_MALFORMED
    assert _refusal(data + data, tmp_path).failure is Failure.ARCHIVE_MALFORMED


def test_unpack__an_archive_without_a_file__refused(tmp_path: Path) -> None:
    assert _refusal(_tar(_entry("d", tarfile.DIRTYPE)), tmp_path).failure is Failure.ARCHIVE_REFUSED
    assert _refusal(bytes(10_240), tmp_path).failure is Failure.ARCHIVE_REFUSED


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_unpack__a_header_altered_anywhere__never_anything_but_a_refusal_or_an_ordinary_file(
    data: st.DataObject, tmp_path: Path
) -> None:
    archive = bytearray(_tar(_entry("a.txt"), _entry("d", tarfile.DIRTYPE), _entry("d/b")))
    for _ in range(data.draw(st.integers(1, 4))):
        archive[data.draw(st.integers(0, 2_047))] = data.draw(st.integers(0, 255))
    block = bytearray(archive[:512])
    block[148:156] = b" " * 8
    archive[148:156] = b"%06o\0 " % sum(block)  # a matching checksum, so that the reader has to look further
    out = tmp_path / "out"
    before = set(tmp_path.iterdir())
    try:
        _unpack(bytes(archive), out)
    except SealedDataError:
        pass
    finally:
        assert all(path.is_file() or path.is_dir() for path in out.rglob("*"))
        assert not any(path.is_symlink() for path in out.rglob("*"))
        shutil.rmtree(out)
    assert set(tmp_path.iterdir()) == before
