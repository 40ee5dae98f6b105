"""The wheel alone: built offline, installed into a clean environment, complete and without a server in it.

Its published dependencies are lent from this environment, one by one by their declared names, so that a missing
declaration shows.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from importlib import metadata
from pathlib import Path

import pytest

from tests.unpacking import unpack

TOP = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel_of(TOP / "cli", tmp_path_factory.mktemp("dist"))


def wheel_of(project: Path, folder: Path) -> Path:
    """Built from the sdist, which is built from the repository: both ways hold the same."""
    build(project, "sdist", folder)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        unpack(archive, folder / "unpacked")
    (source,) = (folder / "unpacked").iterdir()
    build(source, "wheel", folder)
    return next(folder.glob("*.whl"))


def build(source: Path, target: str, folder: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=60)


def environment(folder: Path, wheel: Path, name: str) -> Path:
    """A clean environment with this wheel of ``name``, and what that declares; its interpreter."""
    uv = shutil.which("uv", path=f"{TOP / '.noxw' / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert uv is not None, "uv comes with noxw"
    offline = {**os.environ, "UV_OFFLINE": "1", "UV_NO_CONFIG": "1"}
    for command in (
        [uv, "venv", "--quiet", "--python", sys.executable, str(folder / "venv")],
        [uv, "pip", "install", "--quiet", "--no-deps", "--python", str(folder / "venv/bin/python"), str(wheel)],
    ):
        subprocess.run(command, check=True, capture_output=True, timeout=60, env=offline)
    site = next((folder / "venv" / "lib").glob("python*/site-packages"))
    for requirement in needed(metadata.requires(name) or []):
        lend(requirement, site)
    return folder / "venv" / "bin" / "python"


def needed(requirements: list[str]) -> set[str]:
    """The declared dependencies and theirs, by name."""
    found: set[str] = set()
    waiting = list(requirements)
    while waiting:
        text = waiting.pop()
        name = re.sub(r"[-_.]+", "-", re.match(r"[A-Za-z0-9._-]+", text)[0]).lower()  # type: ignore[index]
        if name in found or "extra ==" in text:
            continue
        try:
            waiting += metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        found.add(name)
    return found


def lend(name: str, site: Path) -> None:
    """Link a distribution's files into another environment."""
    distribution = metadata.distribution(name)
    for top in {file.parts[0] for file in distribution.files or [] if file.parts[0] != ".."}:
        target = site / top
        if not target.exists():
            target.symlink_to(Path(str(distribution.locate_file(top))))


def test_wheel_alone_has_version_help_and_hashes(wheel: Path, tmp_path: Path) -> None:
    python = environment(tmp_path, wheel, "service-cli")
    client = str(python.parent / "service-cli")
    version = metadata.version("service-cli")
    for words, expected in (
        (["--version"], f"service-cli, version {version}"),
        (["--help"], "poster:publish-fund"),
        (["help", "claim"], "Usage: service-cli claim"),
    ):
        done = subprocess.run([client, *words], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
        assert expected in done.stdout
    (tmp_path / "page.md").write_bytes(b"x")
    hashed = subprocess.run([client, "spec-commitment", "page.md"], cwd=tmp_path, capture_output=True, check=True)
    assert json.loads(hashed.stdout)["byte_length"] == 1
