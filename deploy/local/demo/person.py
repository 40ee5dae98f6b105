"""A person at a shell: one role's environment, one home, and ``service-cli``.

Every command runs in its own process with only this role's keys in its environment. Its events are returned parsed, its
stderr passes through; an unexpected exit code raises with both.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from local_stack.process import Family

CLIENT: Final = str(Path(sys.executable).parent / "service-cli")
AUDIT: Final = str(Path(sys.executable).parent / "service-audit")
TIMEOUT_SECONDS: Final = 300


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """One line of a command's stdout."""

    name: str
    fields: Mapping[str, object]

    def text(self, name: str) -> str:
        """Return a field that must be text."""
        value = self.fields[name]
        if not isinstance(value, str):
            raise TypeError(f"{self.name}.{name} is not text")
        return value


class UnexpectedEnd(Exception):
    """A command ended otherwise than expected."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ended: its exit code, events and messages."""

    code: int
    events: tuple[PrintedLine, ...]
    words: str

    def event(self, name: str) -> PrintedLine:
        """Return the one event of that name."""
        found = [event for event in self.events if event.name == name]
        if len(found) != 1:
            raise UnexpectedEnd(f"expected one {name}, got {[event.name for event in self.events]}\n{self.words}")
        return found[0]


@dataclass(frozen=True, slots=True)
class Person:
    """One role with a home of its own. ``echo`` gets what is typed and what the command prints.

    Commands run in the stack's family of processes, so that none outlives it, however it ends.
    """

    name: str
    environment: Mapping[str, str] = field(repr=False)
    home: Path
    family: Family = field(repr=False)
    echo: Callable[[str], None] = lambda _: None

    def audit(self, bounty_id: str) -> Ran:
        """Type ``service-audit`` for one bounty; raise where something differs."""
        return self.run("--bounty", bounty_id, program=AUDIT)

    def run(self, *arguments: str, code: int | None = 0, stdin: bytes = b"", program: str = CLIENT) -> Ran:
        """Type one command; raise unless it ends with ``code``, where one is given."""
        self.echo(f"{self.name}$ {Path(program).name} {' '.join(_short(word) for word in arguments)}")
        with tempfile.TemporaryDirectory(dir=self.home) as folder:
            files = {name: Path(folder) / name for name in ("IN", "OUT", "ERR")}
            files["IN"].write_bytes(stdin)
            status = self._finish([program, *arguments], {name: str(path) for name, path in files.items()})
            stdout, stderr = files["OUT"].read_text(), files["ERR"].read_text(errors="replace")
        ran = Ran(status, tuple(_event(line) for line in stdout.splitlines()), stderr)
        for line in stderr.splitlines():
            self.echo(f"    {line}")
        if code is not None and ran.code != code:
            raise UnexpectedEnd(f"{self.name}: {arguments[0]} ended with {ran.code}, not {code}\n{stderr}\n{stdout}")
        return ran

    def _finish(self, arguments: Sequence[str], redirections: Mapping[str, str]) -> int:
        """Return the exit code of the command, its three streams redirected to files as a shell does it."""
        script = 'exec "$0" "$@" <"$IN" >"$OUT" 2>"$ERR"'
        command = ["/bin/sh", "-c", script, *arguments]
        child = self.family.spawn(
            f"cli-{self.name}", command, environment={**self.variables(), **redirections}, cwd=self.home
        )
        try:
            deadline = time.monotonic() + TIMEOUT_SECONDS
            while (status := child.exit_status()) is None:
                self.family.checkpoint()
                if time.monotonic() > deadline:
                    raise UnexpectedEnd(f"{self.name}: {arguments[1]} did not end within {TIMEOUT_SECONDS} s")
                time.sleep(0.02)
            return status
        finally:
            self.family.end([child], kill=True)

    def variables(self) -> dict[str, str]:
        """Return the whole environment of a command: this role's values, a path and a home, nothing of the caller's."""
        home = {"HOME": str(self.home), "XDG_STATE_HOME": str(self.home / "state")}
        return {"PATH": os.environ.get("PATH", os.defpath), **home, **self.environment}


def _event(line: str) -> PrintedLine:
    fields = json.loads(line)
    return PrintedLine(fields.pop("event"), fields)


def _short(word: str) -> str:
    """Commitments and addresses shortened, for reading."""
    return f"{word[:10]}…{word[-4:]}" if word.startswith("0x") and len(word) > 20 else word
