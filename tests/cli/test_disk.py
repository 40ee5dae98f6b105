"""Files on their way: what a killed run left is removed, and nothing else."""

import fcntl
import os
import tempfile
from pathlib import Path

import pytest
from service_cli.disk import temporary_folder

LONG_AGO = (1_000_000_000, 1_000_000_000)


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def left(top: Path, name: str, *, old: bool = True) -> Path:
    folder = top / name
    folder.mkdir(mode=0o700)
    (folder / "ciphertext.age").write_bytes(b"x")
    if old:
        os.utime(folder, LONG_AGO)
    return folder


@pytest.mark.attack
def test_what_a_killed_run_left_is_removed_by_the_next_one(top: Path) -> None:
    dead, young, other = (
        left(top, "service-cli-opening-dead"),
        left(top, "service-cli-opening-young", old=False),
        left(top, "somebody-s"),
    )
    living = left(top, "service-cli-opening-living")
    (top / "service-cli-opening-link").symlink_to(other)
    handle = os.open(living, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with temporary_folder() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        os.utime(folder, LONG_AGO)
        with temporary_folder() as second:
            assert (folder.is_dir(), second != folder) == (True, True)
    os.close(handle)
    assert [each.is_dir() for each in (dead, young, living, other)] == [False, True, True, True]
    assert (other / "ciphertext.age").exists()
    assert not folder.exists()
