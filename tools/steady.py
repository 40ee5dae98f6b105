"""Whether the whole suite is green every time: run it repeatedly, in another order each time, half of it loaded.

Each run is every session of ``./noxw`` with the tests of each in a random order, which the run's seed repeats
(pytest-random-order: files, and the tests within a file), and with the campaigns' walks of that seed. The last runs go
beside a load: a busy loop for each core, and a writer that has the disk write out a file of 256 MiB over and over. The
tests' own files are on that disk then, their servers where ``./noxw`` has them.

Resumable: a run that ended for the present commit, green or not, is not repeated without ``--again``; while files are
changed nothing is resumed. Results and logs are in ``.local/steady``. The exit code is 1 when any run failed. SIGINT
and SIGTERM stop the suite and the load; the load also ends on its own when this process is killed.
"""

import argparse
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

TOP: Final = Path(__file__).parent.parent
RESULTS: Final = TOP / ".local" / "steady"
STOP_SECONDS: Final = 90.0
"""How long an interrupted suite may take to stop its servers."""
_WITH_OWNER: Final = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
"""
"""The owner holds the other end of stdin: it closes however the owner ends."""
_SPIN: Final = (
    _WITH_OWNER
    + """
while True:
    sum(range(10_000))
"""
)
_WRITE: Final = (
    _WITH_OWNER
    + """
piece = os.urandom(1 << 20)
with open(sys.argv[1], "wb") as file:
    os.unlink(sys.argv[1])
    while True:
        file.seek(0)
        for _ in range(256):
            file.write(piece)
            file.flush()
            os.fsync(file.fileno())
"""
)


@dataclass(frozen=True, slots=True)
class Run:
    """How one run of the suite ended. ``failed`` names tests, and sessions that failed without naming one."""

    commit: str
    seed: int
    loaded: bool
    seconds: float
    passed_tests: int
    failed_tests: int
    green: bool
    failed: tuple[str, ...]


def main() -> int:
    """Run what is not done yet, then print the table and the summary."""
    parser = argparse.ArgumentParser(prog="steady", description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="how many runs; default 10")
    parser.add_argument("--loaded", type=int, help="how many of them, the last, beside a load; default half")
    parser.add_argument("--seed", type=int, default=1, help="of the first run; each further run has the next one")
    parser.add_argument("--minutes", type=float, default=90.0, help="a run that takes longer has failed; default 90")
    parser.add_argument("--again", action="store_true", help="repeat runs that are done for this commit, too")
    parser.add_argument("sessions", nargs="*", help="these sessions of ./noxw only; default all")
    options = parser.parse_args()
    loaded = options.runs // 2 if options.loaded is None else options.loaded
    if not 0 <= loaded <= options.runs:
        parser.error("--loaded is at most --runs")
    if importlib.util.find_spec("random_order") is None:
        parser.error("pytest-random-order is not installed in this environment")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    RESULTS.mkdir(parents=True, exist_ok=True)
    state, runs = _state(), list[Run]()
    for number in range(1, options.runs + 1):
        seed, under_load = options.seed + number - 1, number > options.runs - loaded
        name = "-".join([state, *options.sessions, f"{seed}{'-loaded' if under_load else ''}"])
        done = None if options.again or state.endswith("changed") else _load(name)
        if done is None:
            try:
                done = _run(name, state, seed, under_load, options.sessions, options.minutes * 60)
            except KeyboardInterrupt:
                return 130
        runs.append(done)
        ended = "green" if done.green else "FAILED: " + ", ".join(done.failed)
        print(f"steady: run {number} of {options.runs}, {_kind(done)}, {done.seconds:.0f} s: {ended}", file=sys.stderr)
    print(_table(runs))
    green, green_loaded = sum(run.green for run in runs), sum(run.green and run.loaded for run in runs)
    print(f"\n{len(runs)} runs, {green} green ({green_loaded} of them under load)", flush=True)
    return 0 if green == len(runs) else 1


def _run(name: str, state: str, seed: int, loaded: bool, sessions: list[str], limit: float) -> Run:
    order = f"--random-order --random-order-seed={seed}"
    environment = {
        **os.environ,
        "PYTEST_ADDOPTS": f"{os.environ.get('PYTEST_ADDOPTS', '')} {order}".strip(),
        "SERVICE_CAMPAIGN_SEED": str(seed),
    }
    if loaded:
        environment["PYTEST_DEBUG_TEMPROOT"] = tempfile.gettempdir()  # what tests write is on the disk, not in memory
    started, log = time.monotonic(), RESULTS / f"{name}.log"
    with _load_on_machine() if loaded else nullcontext(), log.open("wb") as file:
        code = _suite(sessions, environment, file.fileno(), limit)
    text = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(errors="replace"))
    counts = re.findall(r"^(\d+) passed, (\d+) failed$", text, re.MULTILINE)
    passed, failed = map(int, counts[-1]) if counts else (0, 0)
    seconds, failures = time.monotonic() - started, _failed(text, code, limit)
    run = Run(state, seed, loaded, seconds, passed, failed, code == 0, failures)
    draft = RESULTS / f"{name}.new"
    draft.write_text(json.dumps(asdict(run)), encoding="utf-8")
    draft.replace(RESULTS / f"{name}.json")
    return run


def _suite(sessions: list[str], environment: dict[str, str], log: int, limit: float) -> int | None:
    """The exit code of ``./noxw``; None when it took too long."""
    command = [str(TOP / "noxw"), *(["-s", "check", "--", *sessions] if sessions else [])]
    suite = subprocess.Popen(
        command, cwd=TOP, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
    )
    try:
        return suite.wait(timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _stop(suite)


def _stop(suite: subprocess.Popen[bytes]) -> None:
    """Interrupt the whole process group as a terminal does; its servers are stopped by who started them."""
    if suite.poll() is not None:
        return
    os.killpg(suite.pid, signal.SIGINT)
    try:
        suite.wait(timeout=STOP_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        os.killpg(suite.pid, signal.SIGKILL)
        suite.wait()


@contextmanager
def _load_on_machine() -> Iterator[None]:
    """Keep every core and the disk busy."""
    scratch = str(RESULTS / f"disk-{os.getpid()}")
    programs = [[_SPIN]] * (os.cpu_count() or 2) + [[_WRITE, scratch]]
    started = list[subprocess.Popen[bytes]]()
    try:
        for program in programs:
            started.append(subprocess.Popen([sys.executable, "-c", *program], stdin=subprocess.PIPE))
        yield
        ended = [one for one in started if one.poll() is not None]
        if ended:
            raise RuntimeError("a process of the load ended too early: the run was not loaded to its end")
    finally:
        for one in started:
            one.kill()
            one.wait()
            if one.stdin is not None:
                one.stdin.close()


def _failed(text: str, code: int | None, limit: float) -> tuple[str, ...]:
    """Names of failed tests; of failed sessions where a log names no test."""
    if code == 0:
        return ()
    tests = dict.fromkeys(re.findall(r"^(?:FAILED|ERROR) (tests/\S+(?:\[[^\n]*?\](?= - |$))?)", text, re.MULTILINE))
    sessions = re.findall(r"^failed: (.+)$", text, re.MULTILINE)
    late = [f"not done after {limit / 60:.0f} minutes"] if code is None else []
    return (*late, *(tests or sessions or ([] if late else [f"exit code {code}"])))


def _kind(run: Run) -> str:
    return f"seed {run.seed}, {'under load' if run.loaded else 'quiet'}"


def _table(runs: list[Run]) -> str:
    rows = [
        f"| {number} | {run.seed} | {'cores and disk' if run.loaded else ''} | {run.seconds:.0f} | "
        f"{run.passed_tests} | {run.failed_tests} | {', '.join(f'`{name}`' for name in run.failed) or 'green'} |"
        for number, run in enumerate(runs, 1)
    ]
    return "\n".join(
        ["| run | seed | load | seconds | passed | failed | result |", "|---|---|---|---|---|---|---|", *rows]
    )


def _load(name: str) -> Run | None:
    try:
        kept = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        return Run(**{**kept, "failed": tuple(kept["failed"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _state() -> str:
    """The commit, and whether the files are still those of it."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=TOP, capture_output=True, text=True, check=False)
    changes = subprocess.run(["git", "status", "--porcelain"], cwd=TOP, capture_output=True, text=True, check=False)
    return (commit.stdout.strip()[:12] or "unknown") + ("-changed" if changes.stdout.strip() else "")


if __name__ == "__main__":
    sys.exit(main())
