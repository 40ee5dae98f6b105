"""Child processes that live and die together.

A child writes to its own log file, leads its own session, and ends when its owner ends, however the owner ends: an
ordered stop (signal, grace, SIGKILL), a parent-death signal to the child itself, and a sentinel process for the child's
own children. A failed start or a death names the child and shows its last log lines. No child inherits the owner's
standard input; secrets are the caller's duty to keep out of ``command``.

The parent-death signal belongs to the *thread* that spawned: from another thread than the main one it is left out
(that thread's end would kill the child) and the sentinel alone covers the child.
"""

import ctypes
import math
import os
import pwd
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from local_stack.sentinel import kill_sessions, session_members

_PR_SET_PDEATHSIG: Final = 1
_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_HANDLED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TAIL_LINES: Final = 15


class StackError(Exception):
    """Something of the local stack could not start or died; the message is for the person at the terminal."""


class ChildFailed(StackError):
    """A child ended or did not become ready; the message ends with its last log lines."""

    def __init__(self, child: "Child", what: str) -> None:
        lines = "\n".join(f"  | {line}" for line in child.tail())
        super().__init__(f"{child.name} {what}; its " + (f"last log lines:\n{lines}" if lines else "log is empty"))


@dataclass(frozen=True, slots=True)
class User:
    """The unprivileged user that a server runs as when the owner is root."""

    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class StopRule:
    """How a child is stopped, how long it may take, and the signal it gets when its owner dies.

    ``ask_again`` repeats the first signal at this interval, in seconds, until the child ends: job workers drop the
    running job at the second signal, and two that arrive before a busy one looks are one to it.
    """

    ask: int = signal.SIGTERM
    grace: float = 10.0
    death_signal: int = signal.SIGKILL
    ask_again: float | None = None


def unprivileged_user() -> User | None:
    """Return ``nobody`` when this process is root, else None: servers that refuse root then need no other user."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return User(65534, 65534)
    return User(entry.pw_uid, entry.pw_gid)


class Child:
    """One running process of a ``Family``."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log_path: Path, rule: StopRule, rank: int) -> None:
        self.name, self.log_path, self.rule, self.rank = name, log_path, rule, rank
        self._process = process

    @property
    def pid(self) -> int:
        """The process id, which is also its session and process group."""
        return self._process.pid

    def exit_status(self) -> int | None:
        """None while it runs; its exit status after it ended (negative: the signal). Does not reap."""
        if self._process.returncode is not None:
            return self._process.returncode
        with suppress(ChildProcessError):
            result = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if result is None:
                return None
            return result.si_status if result.si_code == os.CLD_EXITED else -result.si_status
        return self._process.wait()

    def tail(self, lines: int = TAIL_LINES) -> list[str]:
        """Return the last lines of its log."""
        try:
            with self.log_path.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - 16_384))
                return log.read().decode("utf-8", "replace").splitlines()[-lines:]
        except OSError:
            return []

    def send(self, number: int) -> None:
        """Send a signal to the process itself; nothing happens when it has ended."""
        if self.exit_status() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL the process and everything in its session, and reap it."""
        self.send(signal.SIGKILL)
        self.finish()

    def finish(self) -> int:
        """Sweep the session and reap. The unreaped leader keeps its id from being reused until the sweep is done."""
        if self._process.returncode is None:
            kill_sessions([self.pid])
        return self._process.wait()


class Family:
    """Owns children from their first instant; ``stop`` ends them all, highest rank first."""

    def __init__(self, log_directory: Path, *, checkpoint: Callable[[], None] = lambda: None) -> None:
        """``checkpoint`` is called in every wait, at least each 50 ms, and may raise to abandon it."""
        self._logs, self.checkpoint = log_directory, checkpoint
        self._children: list[Child] = []
        self._sentinel: subprocess.Popen[bytes] | None = None
        self._leftovers: list[Path] = []

    def spawn(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        environment: Mapping[str, str],
        cwd: Path,
        rule: StopRule = StopRule(),
        user: User | None = None,
        rank: int = 0,
    ) -> Child:
        """Start ``command`` with exactly ``environment``; its output is appended to ``<name>.log``."""
        self.checkpoint()
        log_path = self._logs / f"{name}.log"
        with log_path.open("ab") as log, _signals_held() as mask:
            self._send_orders()
            process = _popen(
                command, dict(environment), cwd=cwd, log=log, user=user, prepare=_prepare(rule.death_signal, mask)
            )
            child = Child(name, process, log_path, rule, rank)
            self._children.append(child)
            self._send_orders(f"watch {child.pid}")
        return child

    def run(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        environment: Mapping[str, str],
        cwd: Path,
        user: User | None = None,
        timeout: float = 60.0,
    ) -> Path:
        """Run a one-shot command to its end and return its log's path; a failure raises ``ChildFailed``."""
        child = self.spawn(name, command, environment=environment, cwd=cwd, user=user)
        try:
            self.wait(child, lambda: child.exit_status() is not None, timeout, "did not finish")
            if (status := child.exit_status()) != 0:
                raise ChildFailed(child, f"failed ({describe(status)})")
        finally:
            self.end([child], kill=True)
        return child.log_path

    def wait(self, child: Child, ready: Callable[[], bool], timeout: float, what: str = "did not become ready") -> None:
        """Wait until ``ready()``; a child that ends first or exceeds ``timeout`` seconds raises ``ChildFailed``."""
        deadline, pause = time.monotonic() + timeout, 0.005
        while not ready():
            self.checkpoint()
            if (status := child.exit_status()) is not None:
                if ready():
                    return
                raise ChildFailed(child, f"ended ({describe(status)})")
            if time.monotonic() > deadline:
                raise ChildFailed(child, f"{what} within {timeout:g} s")
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)

    def dead(self) -> Child | None:
        """Return the first child that has ended although nobody stopped it."""
        return next((child for child in self._children if child.exit_status() is not None), None)

    def check(self) -> None:
        """Raise ``ChildFailed`` for a child that has ended although nobody stopped it."""
        if (child := self.dead()) is not None:
            raise ChildFailed(child, f"ended ({describe(child.exit_status())})")

    def end(self, children: Sequence[Child], *, kill: bool = False) -> None:
        """Stop these children together: each its signal, then its grace, then SIGKILL for its whole session."""
        for child in children:
            child.send(signal.SIGKILL if kill else child.rule.ask)
        started, times_asked = time.monotonic(), dict.fromkeys(children, 1)
        while waiting := [child for child in children if child.exit_status() is None]:
            waited = time.monotonic() - started
            for child in waiting:
                if waited > child.rule.grace:
                    child.send(signal.SIGKILL)
                elif waited > times_asked[child] * (child.rule.ask_again or math.inf):
                    times_asked[child] += 1
                    child.send(child.rule.ask)
            time.sleep(0.01)
        for child in children:
            child.kill()
            if child in self._children:
                self._children.remove(child)
            if self._sentinel is not None:
                self._send_orders(f"forget {child.pid}")

    def stop(self) -> None:
        """End every child, highest rank first, then the sentinel."""
        for rank in sorted({child.rank for child in self._children}, reverse=True):
            self.end([child for child in reversed(self._children) if child.rank == rank])
        if self._sentinel is not None and self._sentinel.stdin is not None:
            with suppress(OSError):
                self._sentinel.stdin.close()
            self._sentinel.wait()
            self._sentinel = None

    def members(self) -> list[int]:
        """Return every living process of every child's session, for tests and messages."""
        return session_members(child.pid for child in self._children)

    def remove_after_death(self, path: Path) -> None:
        """Have a file or a directory removed when the owner dies without stopping."""
        self._leftovers.append(path)
        if self._sentinel is not None:
            self._send_orders(f"remove {path}")

    def _send_orders(self, *orders: str) -> None:
        """Send orders to the sentinel, which is started with the first child and again should it have been killed."""
        if self._sentinel is None or self._sentinel.poll() is not None:
            self._sentinel = _start_sentinel(str(self._logs))
            known = [f"remove {path}" for path in self._leftovers]
            orders = (*known, *(f"watch {child.pid}" for child in self._children), *orders)
        if self._sentinel.stdin is not None:
            with suppress(OSError):
                self._sentinel.stdin.write("".join(f"{order}\n" for order in orders).encode())
                self._sentinel.stdin.flush()


def _popen(
    command: Sequence[str | Path],
    environment: dict[str, str],
    *,
    cwd: Path,
    log: IO[bytes],
    user: User | None,
    prepare: Callable[[], None],
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=environment,
            start_new_session=True,
            preexec_fn=prepare,  # noqa: PLW1509 - the only way to ask for a parent-death signal
            user=user.uid if user else None,
            group=user.gid if user else None,
            extra_groups=[] if user else None,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise StackError(f"{command[0]} cannot be started: {error}") from error


def _start_sentinel(label: str) -> subprocess.Popen[bytes]:
    """Start the sentinel; ``label`` is only for readers of the list of processes."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(Path(__file__).with_name("sentinel.py")), str(os.getpid()), label],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={},
        start_new_session=True,
    )


def signal_when_parent_ends(number: int) -> None:
    """Have this process sent a signal when the one that started it ends, however it ends."""
    parent = os.getppid()
    _LIBC.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def describe(status: int | None) -> str:
    """Return an exit status as text."""
    if status is not None and status < 0:
        return f"signal {signal.Signals(-status).name}"
    return f"exit status {status}"


def minimal_environment(home: Path) -> dict[str, str]:
    """Return the environment of a server, with nothing of the caller's: no secrets, no settings of the
    person's home.
    """
    path = os.environ.get("PATH", "/usr/bin:/bin")
    return {"PATH": path, "HOME": str(home), "TMPDIR": str(home), "LANG": "C", "LC_ALL": "C", "TZ": "UTC"}


@contextmanager
def _signals_held() -> Iterator[set[signal.Signals]]:
    """Delay signals between a process's birth and its registration; yields the mask that the child is to have."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
    try:
        yield {signal.Signals(number) for number in mask}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _prepare(death_signal: int, mask: set[signal.Signals]) -> Callable[[], None]:
    """Return the child's code before exec. CPython calls it after it changed the user, which would clear the signal."""
    owner, bound = os.getpid(), threading.current_thread() is threading.main_thread()

    def prepare() -> None:
        if bound:
            _LIBC.prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
            if os.getppid() != owner:
                os._exit(1)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    return prepare
