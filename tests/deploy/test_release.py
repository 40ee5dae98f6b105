"""What a release publishes: complete, the same each time, and of a released commit only."""

import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import service_cli

from tests.clients.package import PACKAGE

from .conftest import REPOSITORY

pytestmark = pytest.mark.nightly
VERSION = service_cli.__version__
SOURCES = "git+https://sources.example/bounties.git"


def release(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(REPOSITORY / "tools/release.py"), *arguments],
        cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


@pytest.fixture(scope="module")
def draft(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A draft of this commit, its sources' repository stated."""
    target = tmp_path_factory.mktemp("release")
    done = release("--draft", "--to", str(target), "--repository", SOURCES)
    assert done.returncode == 0, done.stderr
    return target / VERSION


def test_release_lists_every_file_with_its_digest(draft: Path) -> None:
    checked = subprocess.run(
        ["sha256sum", "--check", "SHA256SUMS"], cwd=draft, capture_output=True, text=True, check=True
    )
    names = {line.rpartition(": ")[0] for line in checked.stdout.splitlines()}
    assert names == {each.name for each in draft.iterdir()} - {"SHA256SUMS"}
    assert {f"service_cli-{VERSION}-py3-none-any.whl", f"service_cli-{VERSION}.tar.gz", "hub-input.json"} <= names


def test_release__made_again__is_the_same_to_the_byte(draft: Path, tmp_path: Path) -> None:
    assert release("--draft", "--to", str(tmp_path), "--repository", SOURCES).returncode == 0
    again = {each.name: each.read_bytes() for each in (tmp_path / VERSION).iterdir() if each.name != "SHA256SUMS"}
    assert again == {name: (draft / name).read_bytes() for name in again}
    assert len(again) == 10


def test_wheel_has_the_version_and_no_server(draft: Path) -> None:
    with zipfile.ZipFile(draft / f"service_cli-{VERSION}-py3-none-any.whl") as wheel:
        names = wheel.namelist()
    assert f"service_cli-{VERSION}.dist-info/METADATA" in names
    assert not [name for name in names if re.search(r"service_api|/(db|web)/", name)]


def test_tarball_names_its_sources(draft: Path) -> None:
    named, unstated = package_of(draft), json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    assert named["repository"] == {"type": "git", "url": SOURCES, "directory": "clients/typescript"}
    assert (unstated["version"], "repository" in unstated) == (VERSION, False)


def package_of(folder: Path) -> dict[str, object]:
    """What the tarball says of itself; it has code, types, its license and a README."""
    with tarfile.open(folder / f"bounty-escrow-client-{VERSION}.tgz") as tarball:
        wanted = {f"package/{name}" for name in ("LICENSE", "README.md", "dist/index.js", "dist/index.d.ts")}
        assert wanted <= set(tarball.getnames())
        file = tarball.extractfile("package/package.json")
        assert file is not None
        found: dict[str, object] = json.load(file)
        return found
