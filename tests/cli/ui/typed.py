"""A person at an interactive shell who presses Tab: a shell of their own on a terminal, and what a line becomes."""

import os
import pty
import select
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_SECONDS = 60.0
_BEGIN, _END = "\x01", "\x05"
"""Keys that move to the begin and the end of a line."""


@dataclass(slots=True)
class TypedShell:
    """A shell that waits for the next line."""

    terminal: int
    folder: Path
    seen: str = ""
    lines: int = 0

    def completed(self, line: str) -> str:
        """What a line becomes with Tab, by having the shell print it instead of running it."""
        self.lines += 1
        result = self.folder / f"line-{self.lines}"
        self._type(f"{line}\t{_BEGIN}echo {_END} > {result}.part && mv {result}.part {result}\n")
        ends = time.monotonic() + _SECONDS
        while not result.exists() and time.monotonic() < ends:
            self._read()
        assert result.exists(), self.seen[-2_000:]
        return result.read_text().strip()

    def _type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def _read(self) -> None:
        ready, _, _ = select.select([self.terminal], [], [], 0.1)
        if ready:
            self.seen += os.read(self.terminal, 65_536).decode(errors="replace")


@contextmanager
def typed(command: Sequence[str], environment: Mapping[str, str], cwd: Path, scratch: Path) -> Iterator[TypedShell]:
    """An interactive shell on a terminal; it is ended with the test."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command, cwd=cwd, env={**environment, "TERM": "dumb"}, stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True,
    ) as process:  # fmt: skip
        os.close(theirs)
        try:
            yield TypedShell(ours, scratch)
        finally:
            process.kill()
            process.wait()
            os.close(ours)
