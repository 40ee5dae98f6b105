"""``./noxw``: which interpreter it takes, and what it says where there is none."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import REPOSITORY

TOO_OLD = "#!/bin/sh\necho Python 3.9.2\nexit 1\n"


class Door:
    """A copy of noxw beside an environment that only prints what it was asked to run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.programs = folder / "programs"
        self.programs.mkdir()
        (folder / "requirements").mkdir()
        for name in ("noxw", "requirements/pythons.txt", "requirements/nox.txt"):
            shutil.copy(REPOSITORY / name, folder / name)
        for name in ("sh", "dirname", "head", "tail", "sort", "cut", "cksum", "cat", "rm"):
            (self.programs / name).symlink_to(str(shutil.which(name)))
        self.base = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
        (folder / ".noxw/bin").mkdir(parents=True)
        script(folder / ".noxw/bin/python", '#!/bin/sh\necho "ran $*"\n')
        pins = (folder / "requirements/nox.txt").read_bytes()
        cksum = subprocess.run(["cksum"], input=pins, capture_output=True, check=True)
        made_for = f"{self.base}\n{sys.version}\n{cksum.stdout.decode()}"
        (folder / ".noxw/made-for").write_text(made_for, encoding="utf-8")

    def open(self, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.programs), "HOME": str(self.folder), **variables}
        return subprocess.run(
            [self.folder / "noxw", "--list"], env=environment, capture_output=True, text=True, check=False
        )


def script(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def door(tmp_path: Path) -> Door:
    return Door(tmp_path)


def test_python3_too_old__a_newer_one_is_found(door: Door) -> None:
    script(door.programs / "python3", TOO_OLD)
    (door.programs / f"python3.{sys.version_info[1]}").symlink_to(door.base)
    ran = door.open()
    assert (ran.returncode, ran.stdout) == (0, "ran -m nox --list\n"), ran.stderr


def test_no_suitable_python__says_which_and_how_to_get_one(door: Door) -> None:
    script(door.programs / "python3", TOO_OLD)
    ran = door.open(HOME=str(door.folder / "nowhere"))
    if ran.returncode == 0:  # found below /usr/local/bin, which noxw looks into besides PATH
        assert any(Path("/usr/local/bin").glob("python3.1?"))
        return
    assert "needs Python 3.11.2 to 3.14 and found Python 3.9.2" in ran.stderr
    assert "apt install python3" in ran.stderr


def functions(door: Door) -> str:
    """The functions of noxw alone, without what it does at its end."""
    text = (door.folder / "noxw").read_text(encoding="utf-8").replace('"$0"', f'"{door.folder}/noxw"')
    return text.partition("\npython=$(find_python)")[0]
