"""The helper that takes archives apart for the tests of the wheel and of the former release."""

import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from tests.unpacking import unpack


def archive(*members: tuple[str, bytes, bytes]) -> tarfile.TarFile:
    """An archive of these names, types and contents."""
    file = BytesIO()
    with tarfile.open(fileobj=file, mode="w") as made:
        for name, kind, content in members:
            info = tarfile.TarInfo(name)
            info.type, info.size, info.linkname = kind, len(content), "/etc/passwd"
            info.mode = 0o6755
            made.addfile(info, BytesIO(content))
    return tarfile.open(fileobj=BytesIO(file.getvalue()))


def test_unpack__files_and_folders__are_written_without_special_modes(tmp_path: Path) -> None:
    unpack(archive(("a", tarfile.DIRTYPE, b""), ("a/b.sh", tarfile.REGTYPE, b"x")), tmp_path / "out")
    assert (tmp_path / "out/a/b.sh").read_bytes() == b"x"
    assert (tmp_path / "out/a/b.sh").stat().st_mode & 0o7777 == 0o755


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("/absolute", tarfile.REGTYPE),
        ("../outside", tarfile.REGTYPE),
        ("a/../../outside", tarfile.REGTYPE),
        ("link", tarfile.SYMTYPE),
        ("hard", tarfile.LNKTYPE),
        ("pipe", tarfile.FIFOTYPE),
        ("device", tarfile.CHRTYPE),
    ],
)
def test_unpack__what_leads_outside_or_is_no_file__is_refused(tmp_path: Path, name: str, kind: bytes) -> None:
    with pytest.raises(ValueError, match="no plain file"):
        unpack(archive((name, kind, b"")), tmp_path / "out")
    assert not list(tmp_path.rglob("outside"))
