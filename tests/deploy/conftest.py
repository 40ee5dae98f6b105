"""What the tests of the local servers share: a private temporary directory, and a way to find what was left behind."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


class Lair:
    """A temporary directory of one test's own; whatever runs below it belongs to that test."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def processes(self) -> dict[int, str]:
        """Living processes that mention this directory in their arguments, environment or working directory."""
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                words = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
                words += os.fsencode((entry / "cwd").readlink())
            except OSError:
                continue
            if os.fsencode(self.path) in words:
                found[int(entry.name)] = words[:120].replace(b"\0", b" ").decode("utf-8", "replace")
        return found

    def leftovers(self) -> tuple[list[str], list[str]]:
        """Processes and runtime directories."""
        return sorted(self.processes().values()), sorted(path.name for path in self.path.glob("*bounty-stack-*"))

    def environment(self) -> dict[str, str]:
        """An environment whose temporary directory is this one."""
        return {**os.environ, "TMPDIR": str(self.path), "PYTHONPATH": str(REPOSITORY / "deploy/local")}


@pytest.fixture
def lair(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lair]:
    """A temporary directory that the unprivileged user can enter too, used by everything the test starts."""
    tmp_path_factory.getbasetemp()  # pytest makes its own first, or it would lie in here and go with it
    path = Path(tempfile.mkdtemp(prefix="lair-", dir="/tmp"))
    path.chmod(0o711)
    monkeypatch.setenv("TMPDIR", str(path))
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    yield Lair(path)
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], bool]:
    """Ask until it is true, at most ten seconds."""

    def ask(question: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + 10
        while not (answer := question()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return answer

    return ask
