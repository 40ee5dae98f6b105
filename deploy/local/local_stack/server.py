"""The base of every local server: one child process that listens on one port of 127.0.0.1.

A kind of server states its command and when it answers. Port, directory and data outlive ``kill`` and ``stop``:
``restart`` brings the same server back.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final

from local_stack.ports import HOST
from local_stack.process import Child, StopRule, User, minimal_environment
from local_stack.runtime import Runtime

RESTART_SECONDS: Final = 30.0


class LocalServer(ABC):
    """A server in a directory of a runtime, which is also its process's name."""

    rule: ClassVar = StopRule()
    python_path: ClassVar[Path | None] = None
    """Where its modules are, for one that this repository holds."""

    def __init__(self, runtime: Runtime, directory: Path, user: User | None = None) -> None:
        """``user`` is whom it runs as where that is not the owner."""
        self._runtime, self._directory, self._user = runtime, directory, user
        self.child: Child | None = None
        self.port = 0

    def launch(self, timeout: float) -> None:
        """First start, on a free port."""
        self.child, self.port = self._runtime.start_listening(self._spawn, self._answers, timeout)

    def kill(self) -> None:
        """SIGKILL, as a crash."""
        if self.child is not None:
            self._runtime.family.end([self.child], kill=True)

    def stop(self) -> None:
        """Regular shutdown."""
        if self.child is not None:
            self._runtime.family.end([self.child])

    def restart(self) -> None:
        """Start again on the same data and port."""
        self.child = self._spawn(self.port)
        self._runtime.family.wait(self.child, lambda: self._answers(self.port), timeout=RESTART_SECONDS)

    def _spawn(self, port: int) -> Child:
        modules = {} if self.python_path is None else {"PYTHONPATH": str(self.python_path)}
        return self._runtime.family.spawn(
            self._directory.name,
            self._command(port),
            environment=minimal_environment(self._directory) | modules,
            cwd=self._directory,
            rule=self.rule,
            user=self._user,
        )

    @abstractmethod
    def _command(self, port: int) -> Sequence[str | Path]:
        """Return the command to run, made ready for this port."""

    @abstractmethod
    def _answers(self, port: int) -> bool:
        """Return whether it serves on this port by now."""


class HttpServer(LocalServer):
    """One that is reached over HTTP."""

    @property
    def url(self) -> str:
        """``http://127.0.0.1:port``."""
        return f"http://{HOST}:{self.port}"
