"""Environment files for the person at the shell: one for everybody, one for each role.

A file has mode 0600, is written whole or not at all, and is removed at stop. Every value is single-quoted and holds
nothing that a POSIX shell (``set -a; . file``) and a dotenv parser would read differently. Two stacks never share a
file: the default name gets a number while another stack holds it, a name that was given is refused.
"""

import fcntl
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Final

from local_stack.process import StackError

_FORBIDDEN: Final = frozenset("'\\\n\r\0")
_MOST_STACKS: Final = 32


class EnvironmentFiles:
    """``<name>.env`` and the folder ``<name>/`` with ``<role>.env``, held by one stack."""

    def __init__(self, path: Path, lock: IO[bytes]) -> None:
        self.path = path
        self.folder = path.with_suffix("")
        self._lock = lock

    def paths(self) -> tuple[Path, ...]:
        """Return everything this stack may leave in the folder if it is killed."""
        return self.path, self.folder, _lock_path(self.path)

    def role_path(self, role: str) -> Path:
        """Return the file of one role."""
        return self.folder / f"{role}.env"

    def write(self, everybody: Mapping[str, str], roles: Mapping[str, Mapping[str, str]]) -> None:
        """Write all files, the common one last: where it exists, the others do."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700, parents=True)
        for role, values in roles.items():
            _write(self.role_path(role), values)
        _write(self.path, everybody)

    def remove(self) -> None:
        """Remove all files and let the name go."""
        self.path.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        _lock_path(self.path).unlink(missing_ok=True)
        self._lock.close()


def claim_files(path: Path, *, exactly: bool) -> EnvironmentFiles:
    """Claim ``path``, or with ``exactly`` false the first of ``name``, ``name-2``, ... that no living stack holds."""
    path = path.absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    numbered = [path] if exactly else [path, *(path.with_stem(f"{path.stem}-{n}") for n in range(2, _MOST_STACKS))]
    for candidate in numbered:
        if (lock := _locked(candidate)) is not None:
            return EnvironmentFiles(candidate, lock)
    raise StackError(f"another stack is using {path.name}; name another file with --env-file")


def render(values: Mapping[str, str]) -> str:
    """Return the content of an environment file."""
    lines = []
    for name, value in values.items():
        if _FORBIDDEN & set(value):
            raise ValueError(f"{name} cannot be written to an environment file")
        lines.append(f"{name}='{value}'\n")
    return "".join(lines)


def _write(path: Path, values: Mapping[str, str]) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(render(values))
    draft.replace(path)


def _lock_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def _locked(path: Path) -> IO[bytes] | None:
    """Hold the name's lock; None while another stack does. A lock file removed meanwhile is made again."""
    while True:
        lock = _lock_path(path).open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _lock_path(path).exists() and os.path.samestat(os.fstat(lock.fileno()), _lock_path(path).stat()):
                return lock
        except BlockingIOError:
            lock.close()
            return None
        except FileNotFoundError:
            pass
        lock.close()
