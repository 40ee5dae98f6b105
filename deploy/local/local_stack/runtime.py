"""One runtime directory and one family of processes for everything that a stack or a fixture starts.

The directory is below the temporary directory, is private to its owner, and is gone after ``stop``; what a killed owner
left is removed at the next start. When the owner is root the directory can be entered (not listed) by the unprivileged
user that servers such as PostgreSQL run as, wherever the repository is. A temporary directory that this user could not
reach or run programs from is refused.
"""

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from local_stack.ports import PortClaim, claim_port
from local_stack.process import Child, ChildFailed, Family, StackError, User, unprivileged_user

PREFIX: Final = "bounty-stack-"
_OWNER_FILE: Final = ".owner"
_DRAFT: Final = ".new-"
_DRAFT_SECONDS: Final = 60.0
_PORT_ATTEMPTS: Final = 5
_OTHERS: Final = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - only the parents of a directory made safely
_PORT_TAKEN: Final = ("address already in use", "could not bind", "failed listening on port")


class Runtime:
    """A directory, the processes that use it, and the ports they listen on."""

    def __init__(self, *, checkpoint: Callable[[], None] = lambda: None) -> None:
        """Make the directory; ``checkpoint`` is called in every wait and may raise to abandon it."""
        self.user: User | None = unprivileged_user()
        base = temporary_base()
        remove_stale(base)
        self.path, self._owner = _make(base, traversable=self.user is not None)
        self.logs = self.path / "logs"
        self.logs.mkdir(mode=0o700)
        self.family = Family(self.logs, checkpoint=checkpoint)
        self.family.remove_after_death(self.path)
        self._ports: list[PortClaim] = []

    def directory(self, name: str, *, user: User | None = None) -> Path:
        """Return a new directory of mode 0700 below this runtime, owned by ``user`` where one is given."""
        path = self.path / name
        path.mkdir(mode=0o700)
        if user is not None:
            os.chown(path, user.uid, user.gid)
        return path

    def secret(self, name: str, value: str, *, user: User | None = None) -> Path:
        """Return a new file of mode 0600 with ``value``, owned by ``user`` where one is given."""
        path = self.path / name
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(value)
        if user is not None:
            os.chown(path, user.uid, user.gid)
        return path

    def port(self) -> int:
        """Return a free port, this runtime's until it stops."""
        self._ports.append(claim_port())
        return self._ports[-1].port

    def start_listening(
        self, spawn: Callable[[int], Child], ready: Callable[[int], bool], timeout: float
    ) -> tuple[Child, int]:
        """Start a server on a free port; one that found its port taken after all is started again on another."""
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            port = self.port()
            child = spawn(port)
            try:
                self.family.wait(child, lambda port=port: ready(port), timeout)  # type: ignore[misc]
            except ChildFailed:
                lost = lost_port(child)
                self.family.end([child], kill=True)
                if not lost or attempt == _PORT_ATTEMPTS:
                    raise
            else:
                return child, port
        raise AssertionError("unreachable")

    def stop(self) -> None:
        """End every process, give the ports back and remove the directory."""
        try:
            self.family.stop()
        finally:
            for claim in self._ports:
                claim.release()
            shutil.rmtree(self.path, ignore_errors=True)
            self._owner.close()


@contextmanager
def running(*, checkpoint: Callable[[], None] = lambda: None) -> Iterator[Runtime]:
    """A runtime for the length of a with statement."""
    runtime = Runtime(checkpoint=checkpoint)
    try:
        yield runtime
    finally:
        runtime.stop()


@contextmanager
def shared_or_own(runtime: Runtime | None) -> Iterator[Runtime]:
    """The given runtime, whose owner stops it, or a new one for this with statement alone."""
    if runtime is not None:
        yield runtime
    else:
        with running() as own:
            yield own


def lost_port(child: Child) -> bool:
    """Return whether a child that ended reports that another program holds its port."""
    text = "\n".join(child.tail(50)).lower()
    return child.exit_status() is not None and any(sign in text for sign in _PORT_TAKEN)


def temporary_base() -> Path:
    """Return the temporary directory; as root the first that the unprivileged user can reach and run programs from."""
    candidates = [Path(tempfile.gettempdir()).resolve(), *_OTHERS]
    if unprivileged_user() is None:
        return candidates[0]
    for candidate in candidates:
        if candidate.is_dir() and _reachable(candidate) and not os.statvfs(candidate).f_flag & os.ST_NOEXEC:
            return candidate
    raise StackError("no temporary directory that the unprivileged user can reach; set TMPDIR to one")


def remove_stale(base: Path) -> None:
    """Remove runtime directories whose owner is dead, which the free lock on their owner file shows."""
    for path in (*base.glob(PREFIX + "*"), *base.glob(_DRAFT + PREFIX + "*")):
        with suppress(OSError):
            info = path.lstat()
            if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
                continue
            if path.name.startswith(_DRAFT) and time.time() - info.st_mtime < _DRAFT_SECONDS:
                continue
            with (path / _OWNER_FILE).open("ab") as owner:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)


def _make(base: Path, *, traversable: bool) -> tuple[Path, IO[bytes]]:
    """Make the directory under a passing name, lock it, and only then give it the name that ``remove_stale`` sees."""
    draft = Path(tempfile.mkdtemp(prefix=_DRAFT + PREFIX, dir=base))
    owner = (draft / _OWNER_FILE).open("wb")
    fcntl.flock(owner, fcntl.LOCK_EX)
    draft.chmod(0o711 if traversable else 0o700)
    return draft.rename(base / draft.name.removeprefix(_DRAFT)), owner


def _reachable(path: Path) -> bool:
    return all(part.stat().st_mode & stat.S_IXOTH for part in (path, *path.parents))
