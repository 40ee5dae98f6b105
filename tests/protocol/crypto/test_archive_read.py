"""Archives from anywhere, trusted never: what unpacks, and what is refused."""

import shutil
import stat
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bounty_protocol.crypto.archive import ArchiveLimits
from bounty_protocol.crypto.archive_read import Unpacked, pax_records, unpack
from bounty_protocol.crypto.archive_write import comment_header
from bounty_protocol.crypto.failures import Failure, SealedDataError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.protocol.crypto.trees import FILES, LIMITS, entry_of, make, pack, refusal_of, tar_of, tree, unpack_into
from tests.vectors.samples import BINDING


def test_unpack__our_own__the_same_files_all_private(tmp_path: Path) -> None:
    data = pack(make(tmp_path / "d"))
    for size in (1, 511, 512, 65_536):
        out = tmp_path / f"out{size}"
        found = unpack_into(data, out, size=size)
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
    unpack_into(done.stdout, tmp_path / "out")
    assert tree(tmp_path / "out") == tree(root)


def test_unpack__read_by_gnu_tar__the_same_files(tmp_path: Path) -> None:
    root = make(tmp_path / "d", {**FILES, "l" * 120 + "/" + "m" * 200: b"longer"})
    (tmp_path / "out").mkdir()
    done = subprocess.run(
        ["tar", "-xf", "-", "-C", tmp_path / "out"], input=pack(root), check=True, capture_output=True
    )
    assert done.stderr == b""
    assert tree(tmp_path / "out") == tree(root)


SAFE = entry_of("ok.txt")


@pytest.mark.parametrize(
    "entry",
    [
        entry_of("a/../../up"),
        entry_of("a/.."),
        entry_of(".."),
        entry_of("//x"),
        entry_of("/", tarfile.DIRTYPE),
        entry_of("a//b"),
        entry_of("a/./b"),
        entry_of("./../x"),
        entry_of(".//x"),
        entry_of("a\\..\\b"),
        entry_of("a\x7fb"),
        entry_of("ok.txt/child"),
        entry_of("ok.txt", tarfile.DIRTYPE),
        entry_of("d/" * 40 + "f"),
        entry_of("n" * 256),
        entry_of("link", tarfile.SYMTYPE, linkname="/etc"),
        entry_of("dev", tarfile.BLKTYPE),
        entry_of("cont", tarfile.CONTTYPE),
        entry_of("sparse", tarfile.GNUTYPE_SPARSE),
        entry_of("odd", b"Z"),
        entry_of("long", tarfile.SYMTYPE, linkname="l" * 200),
        entry_of("x", pax_headers={"GNU.sparse.major": "1", "GNU.sparse.realsize": str(2**40)}),
    ],
    ids=lambda entry: f"{entry.name[:12]!a}{entry.type!a}",
)
def test_forbidden_entry_is_refused(entry: tarfile.TarInfo, tmp_path: Path) -> None:
    assert unpack_into(tar_of(SAFE), tmp_path / "fine").file_count == 1
    before = set(tmp_path.rglob("*"))
    for style in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        if entry.pax_headers and style == tarfile.GNU_FORMAT:
            continue
        refusal = refusal_of(tar_of(SAFE, entry, style=style), tmp_path)
        assert refusal.failure is Failure.ARCHIVE_REFUSED
        assert refusal.message.isprintable()
    assert set(tmp_path.rglob("*")) == before


def test_file_through_a_planted_link_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    link = entry_of("d", tarfile.SYMTYPE, linkname=str(outside))
    refusal_of(tar_of(link, entry_of("d/evil")), tmp_path)
    assert list(outside.iterdir()) == []


def test_global_header_that_names_files_is_refused(tmp_path: Path) -> None:
    for headers, fine in (({"comment": "abc", "mtime": "1"}, True), ({"path": "../x"}, False), ({"size": "9"}, False)):
        data = tarfile.TarInfo.create_pax_global_header(headers) + tar_of(SAFE)
        if fine:
            assert unpack_into(data, tmp_path / "fine").file_count == 1
        else:
            assert refusal_of(data, tmp_path).failure is Failure.ARCHIVE_REFUSED


def _global(*comments: str) -> bytes:
    """One global header with these comments."""
    records = b""
    for comment in comments:
        value = f" comment={comment}\n".encode()
        length = next(size for size in range(1, 10_000) if len(str(size)) + len(value) == size)
        records += str(length).encode() + value
    header = entry_of("@PaxHeader", tarfile.XGLTYPE, size=len(records)).tobuf(tarfile.USTAR_FORMAT)
    return header + records + bytes(-len(records) % 512)


BOUND = BINDING.text()


def test_binding_is_read_wherever_its_comment_is(tmp_path: Path) -> None:
    ours = comment_header(BOUND)
    pythons = tarfile.TarInfo.create_pax_global_header({"comment": BOUND})
    body, entry = tar_of(SAFE), tar_of(SAFE)[:1_024]
    accepted = (ours + body, pythons + body, entry + ours + bytes(1_024), _global("of git", "x", BOUND) + body)
    for number, data in enumerate(accepted):
        assert unpack_into(data, tmp_path / f"{number}").binding == BINDING
    own = entry_of("ok.txt", pax_headers={"comment": BOUND})
    for number, data in enumerate((body, _global("bounty", f" {BOUND}") + body, tar_of(own))):
        assert unpack_into(data, tmp_path / f"unbound-{number}").binding is None


def test_limits_of_unpacking_are_exact(tmp_path: Path) -> None:
    data = tar_of(entry_of("a"), entry_of("b/c"))
    assert unpack_into(data, tmp_path / "fine", ArchiveLimits(max_entries=3, max_bytes=8)).byte_length == 8
    assert "more than 2" in refusal_of(data, tmp_path, ArchiveLimits(max_entries=2)).message
    assert "more than 7" in refusal_of(data, tmp_path, ArchiveLimits(max_bytes=7)).message


@pytest.mark.parametrize("again", [entry_of("a", tarfile.DIRTYPE), entry_of("./", tarfile.DIRTYPE)])
def test_directory_repeated_without_end_is_refused(again: tarfile.TarInfo, tmp_path: Path) -> None:
    limits = ArchiveLimits(max_entries=2)
    assert unpack_into(tar_of(*[again] * 7, entry_of("a/b")), tmp_path / "fine", limits).file_count == 1
    assert "more than 8 headers" in refusal_of(tar_of(*[again] * 8, entry_of("a/b")), tmp_path, limits).message


@pytest.mark.parametrize("header", [_global("anything"), entry_of("a" * 150).tobuf(tarfile.PAX_FORMAT)[:-512]])
def test_extension_headers_without_end_are_refused(header: bytes, tmp_path: Path) -> None:
    limits = ArchiveLimits(max_entries=2)
    assert unpack_into(header * 7 + tar_of(SAFE), tmp_path / "fine", limits).file_count == 1
    assert "more than 8 headers" in refusal_of(header * 8 + tar_of(SAFE), tmp_path, limits).message


def test_huge_claim_is_refused_before_writing(tmp_path: Path) -> None:
    header = entry_of("bomb", size=2**50).tobuf(tarfile.GNU_FORMAT)
    refusal = refusal_of(header + bytes(512), tmp_path)
    assert refusal.failure is Failure.ARCHIVE_REFUSED
    assert "more than 1 GiB" in refusal.message


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_endless_extension_is_refused_unread(kind: bytes, tmp_path: Path) -> None:
    def endless() -> Iterator[bytes]:
        yield entry_of("././@PaxHeader", kind, size=2**33).tobuf(tarfile.GNU_FORMAT)
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
def test_lying_pax_record_is_malformed(record: bytes, tmp_path: Path) -> None:
    header = entry_of("././@PaxHeader", tarfile.XHDTYPE, size=len(record)).tobuf(tarfile.USTAR_FORMAT)
    data = header + record + bytes(-len(record) % 512) + tar_of(SAFE)
    if record == b"":
        assert unpack_into(data, tmp_path / "fine").file_count == 1
    else:
        assert refusal_of(data, tmp_path).failure is Failure.ARCHIVE_MALFORMED


class CountedBytes(bytes):
    """Bytes that count how many of them are copied out."""

    copied = 0

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        if not isinstance(key, slice):
            return part
        CountedBytes.copied += len(part)
        return CountedBytes(part)


@pytest.mark.parametrize("count", [1, 1_000, 10_000])
def test_pax_records_are_copied_a_few_times(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CountedBytes, "copied", 0)
    data = CountedBytes(b"6 a=b\n" * count)
    assert pax_records(data) == [("a", "b")] * count
    assert CountedBytes.copied <= 2 * len(data)


def test_unpack__cut_at_each_block__malformed(tmp_path: Path) -> None:
    data = pack(make(tmp_path / "d"))
    for place in range(0, len(data), 256):
        assert refusal_of(data[:place], tmp_path).failure is Failure.ARCHIVE_MALFORMED


@pytest.mark.parametrize("size", [b"\xff" * 12, b"\xff" * 11 + b"\x00", b"-0000000001\x00", b"zzz"])
def test_size_that_is_no_number_is_malformed(size: bytes, tmp_path: Path) -> None:
    block = bytearray(entry_of("a").tobuf(tarfile.GNU_FORMAT))
    block[124:136] = size.ljust(12, b"\0")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    assert refusal_of(bytes(block) + bytes(2_048), tmp_path).failure is Failure.ARCHIVE_MALFORMED


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_altered_header_is_refused_or_harmless(data: st.DataObject, tmp_path: Path) -> None:
    archive = bytearray(tar_of(entry_of("a.txt"), entry_of("d", tarfile.DIRTYPE), entry_of("d/b")))
    for _ in range(data.draw(st.integers(1, 4))):
        archive[data.draw(st.integers(0, 2_047))] = data.draw(st.integers(0, 255))
    block = bytearray(archive[:512])
    block[148:156] = b" " * 8
    archive[148:156] = b"%06o\0 " % sum(block)  # a matching checksum, so that the reader has to look further
    out = tmp_path / "out"
    before = set(tmp_path.iterdir())
    try:
        unpack_into(bytes(archive), out)
    except SealedDataError:
        pass
    finally:
        assert all(path.is_file() or path.is_dir() for path in out.rglob("*"))
        assert not any(path.is_symlink() for path in out.rglob("*"))
        shutil.rmtree(out)
    assert set(tmp_path.iterdir()) == before
