"""Run nox sessions side by side and report what failed.

Each session writes to its own log below ``.local/check``; a failing one's log is printed whole. The last line counts
the tests of all sessions; the exit code is 1 when any session failed. Interrupting stops every session.
"""

import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).parent.parent
LOGS = TOP / ".local" / "check"
NOX = TOP / ".noxw" / "bin" / "python"
SIDE_BY_SIDE = (os.cpu_count() or 2) + 1
"""One more than there are cores: a session waits for its servers for a tenth of its time."""
_COUNTS = re.compile(r"(\d+) (passed|failed|error|errors)\b")


@dataclass(slots=True)
class RunningSession:
    """One running session."""

    name: str
    process: subprocess.Popen[bytes]
    started: float

    @property
    def log(self) -> Path:
        return LOGS / f"{self.name}.log"


def main(names: list[str]) -> int:
    """Run all, ``SIDE_BY_SIDE`` at a time, in the order given."""
    LOGS.mkdir(parents=True, exist_ok=True)
    waiting, running, failed = deque(names), list[RunningSession](), list[str]()
    passed_tests = failed_tests = 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        while waiting or running:
            while waiting and len(running) < SIDE_BY_SIDE:
                running.append(_start(waiting.popleft()))
            time.sleep(0.1)
            for one in list(running):
                cpu_before = _cpu_seconds()
                if one.process.poll() is None:
                    continue
                running.remove(one)
                cpu = _cpu_seconds() - cpu_before
                counts = _tests(one.log.read_text(errors="replace"))
                passed_tests, failed_tests = passed_tests + counts[0], failed_tests + counts[1]
                if not _report(one, cpu, counts[0]):
                    failed.append(one.name)
    except KeyboardInterrupt:
        _stop(running)
        return 130
    if failed:
        print(f"failed: {', '.join(failed)}", flush=True)
    print(f"{passed_tests} passed, {failed_tests} failed", flush=True)
    return 1 if failed else 0


def _start(name: str) -> RunningSession:
    with (LOGS / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [NOX, "-m", "nox", "-s", name], cwd=TOP, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
    return RunningSession(name, process, time.monotonic())


def _cpu_seconds() -> float:
    """Resources used by all sessions that have ended, and the processes they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _report(one: RunningSession, cpu: float, tests: int) -> bool:
    seconds = time.monotonic() - one.started
    good = one.process.returncode == 0
    counted = f", {tests} tests" if tests else ""
    print(f"{'ok    ' if good else 'FAILED'} {one.name} ({seconds:.0f} s, {cpu:.0f} s of CPU{counted})", flush=True)
    if not good:
        print(one.log.read_text(errors="replace"), flush=True)
    return good


def _tests(log: str) -> tuple[int, int]:
    """Tests passed and failed, by the closing lines of the runners."""
    passed = failed = 0
    for line in log.splitlines():
        if not re.match(r"=+ .* in [\d.]+s|^Suite result|^\d+ passed, \d+ failed", line.strip()):
            continue
        for number, word in _COUNTS.findall(line):
            if word == "passed":
                passed += int(number)
            else:
                failed += int(number)
    return passed, failed


def _stop(running: list[RunningSession]) -> None:
    """Interrupt every session and wait for it: each stops the servers it started."""
    for one in running:
        one.process.send_signal(signal.SIGINT)
    for one in running:
        try:
            one.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            one.process.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
