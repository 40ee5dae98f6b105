"""A small process that outlives its owner by a moment: it ends what a killed owner could not.

When the owner is gone for any reason (SIGKILL included), every process of every watched session is killed and every
named file or directory is removed, then this process ends. The owner's regular stop leaves it nothing to do.
Parent-death signals already end direct children; this reaches their children too (server workers, job processes). Runs
as ``python -I -S sentinel.py`` and therefore imports the standard library only. Orders come on standard input, one a
line: ``watch PID``, ``forget PID``, ``remove PATH``.
"""

import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

GRACE_SECONDS = 1.0
GIVE_UP_SECONDS = 10.0


def session_members(sessions: Iterable[int]) -> list[int]:
    """Return the living processes (zombies aside) whose session is one of ``sessions``."""
    wanted, found = set(sessions), []
    for entry in Path("/proc").iterdir() if wanted else ():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[0] not in (b"Z", b"X") and int(fields[3]) in wanted:
            found.append(int(entry.name))
    return found


def kill_sessions(sessions: Iterable[int], *, grace: float = 0.0) -> None:
    """SIGKILL every process of the sessions until none is left; first allow ``grace`` seconds to end on their own."""
    wanted = set(sessions)
    started = time.monotonic()
    while members := session_members(wanted):
        waited = time.monotonic() - started
        if waited > GIVE_UP_SECONDS + grace:
            return
        for pid in members if waited >= grace else ():
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
        time.sleep(0.01)


def _obey(line: str, watched: set[int], leftovers: set[str]) -> None:
    order, _, value = line.partition(" ")
    if order == "watch":
        watched.add(int(value))
    elif order == "forget":
        watched.discard(int(value))
    elif order == "remove":
        leftovers.add(value)


def main() -> None:
    """Read orders until the owner closes the pipe or is gone, then clean up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    owner = int(sys.argv[1])
    watched: set[int] = set()
    leftovers: set[str] = set()
    pending = b""
    while True:
        # Orders first, even from an owner that is gone by now. A forked copy of the owner may hold the pipe open for
        # ever: look at the parent too, twice a second.
        if not select.select([0], [], [], 0.5)[0]:
            if os.getppid() != owner:
                break
            continue
        data = os.read(0, 65536)
        if not data:
            break
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            _obey(line.decode(), watched, leftovers)
    kill_sessions(watched, grace=GRACE_SECONDS)
    for path in leftovers:
        shutil.rmtree(path, ignore_errors=True)
        Path(path).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
