"""Output appears whole or not at all, also where a process was killed or two have the same target."""

import subprocess
import sys
from pathlib import Path

import pytest
from bounty_protocol.crypto import output
from bounty_protocol.crypto.failures import Failure, SealedDataError

from tests.protocol.crypto.trees import make, tree

PROGRAM = """
import os, signal, sys
from pathlib import Path
from bounty_protocol.crypto.output import new_directory, new_file
target = Path(sys.argv[1])
if sys.argv[2] == "file":
    with new_file(target) as file:
        file.write(b"half")
        os.kill(os.getpid(), signal.SIGKILL)
with new_directory(target) as directory:
    (directory / "plain").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("kind", ["file", "directory"])
def test_leftover_of_a_killed_process_is_removed(kind: str, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path / "out"), kind], check=False)
    (left,) = tmp_path.iterdir()
    alike = tmp_path / ".out.0123456789ab.partial.mine"
    alike.write_text("mine")
    other = tmp_path / ".other.0123456789ab.partial"
    other.write_text("mine")
    if kind == "file":
        with output.new_file(tmp_path / "out") as file:
            file.write(b"whole")
    else:
        with output.new_directory(tmp_path / "out") as directory:
            (directory / "plain").write_text("whole")
    assert not left.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["out", alike.name, other.name])


def test_two_outputs_for_one_target_stay_apart(tmp_path: Path) -> None:
    def give_up() -> None:
        with output.new_file(tmp_path / "out") as second:
            second.write(b"2")
            raise ZeroDivisionError

    with output.new_file(tmp_path / "out") as first:
        with pytest.raises(ZeroDivisionError):
            give_up()
        first.write(b"1")
    assert (tmp_path / "out").read_bytes() == b"1"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("links", [True, False])
def test_file_that_appears_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool) -> None:
    def race() -> None:
        with output.new_file(tmp_path / "out") as file:
            file.write(b"ours")
            (tmp_path / "out").write_bytes(b"theirs")

    def no_links(*_: object) -> None:
        raise PermissionError

    if not links:
        monkeypatch.setattr(Path, "hardlink_to", no_links)
    with pytest.raises(SealedDataError) as refusal:
        race()
    assert refusal.value.failure is Failure.OUTPUT_REFUSED
    assert (tmp_path / "out").read_bytes() == b"theirs"
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]
    with output.new_file(tmp_path / "other") as file:
        file.write(b"x")
    assert ((tmp_path / "other").read_bytes(), (tmp_path / "other").stat().st_nlink) == (b"x", 1)


def test_target_that_appears_is_not_overwritten(tmp_path: Path) -> None:
    def race() -> None:
        with output.new_directory(tmp_path / "out") as directory:
            make(directory, {"ours": b"x"})
            make(tmp_path / "out", {"theirs": b"y"})

    with pytest.raises(SealedDataError) as refusal:
        race()
    assert refusal.value.failure is Failure.OUTPUT_REFUSED
    assert tree(tmp_path / "out") == {"theirs": b"y"}
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]
