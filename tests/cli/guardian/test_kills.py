"""``guardian:open`` killed at any step on the file system: whatever it wrote, ``guardian:forget`` removes or names."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.campaign import FULL, source
from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.submitted import Submitted, load
from tests.cli.terminal import Terminal

STEPS: Final = frozenset(
    {"open", "os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.truncate", "tempfile.mkstemp"}
)
"""What changes a file system, or may, as Python's audit events name it; each is raised before it happens."""
SECRET: Final = b"print(1)\n"
PROGRAM: Final = """
import json, os, signal, sys
places, steps, kill_at, seen = *json.loads(sys.argv[1]), []

def watch(event, arguments):
    if event not in steps:
        return
    paths = [str(each) for each in arguments[:2] if isinstance(each, (str, os.PathLike))]
    if not any(path.startswith(tuple(places)) for path in map(os.path.abspath, paths)):
        return
    seen.append(f"{event} {' '.join(map(os.path.basename, paths))}")
    if len(seen) == kill_at:
        os.kill(os.getpid(), signal.SIGKILL)

sys.argv = ["service-cli", *sys.argv[2:]]
sys.addaudithook(watch)
from service_cli.main import main
try:
    main()
finally:
    print(json.dumps(seen), file=sys.stderr)
"""


def spawn(home: Terminal, kill_at: int, *words: str) -> tuple[int, list[str]]:
    """Run the command until that step; its exit code, and the steps it took where it ended well."""
    places = [str(home.home / name) for name in ("out", ".out", "state", "tmp", "key", ".key")]
    asked = json.dumps([places, sorted(STEPS), kill_at])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, asked, *words],
        cwd=home.home, env=home.variables(TMPDIR=str(home.home / "tmp")), capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, json.loads(done.stderr.splitlines()[-1]) if done.returncode == 0 else []


def left_below(folder: Path) -> list[Path]:
    """Files that have something of the work: plain, sealed, or its key."""
    every = (Path(top, name) for top, _, names in os.walk(folder) for name in names)
    return [path for path in every if path.read_bytes().startswith((SECRET, b"age-encryption.org/"))]


@pytest.mark.attack
def test_open__killed_at_any_step__leaves_nothing_that_forget_does_not_remove(
    ledger: Ledger, api: ApiTwin, guardian: Terminal, won: Submitted
) -> None:
    load(api, won)
    home = guardian.home
    (home / "tmp").mkdir()
    words = ("guardian:open", *won.names, "out/7", "--pass-to", ledger.people.guardians[1].address, "key")
    guardian.run(*words)
    guardian.run("guardian:forget", won.bounty)
    code, steps = spawn(guardian, 0, *words)
    assert (code, len(left_below(home))) == (0, 2)
    guardian.run("guardian:forget", won.bounty)
    into_place = next(number for number, step in enumerate(steps, 1) if step.endswith(".partial 7"))
    every = range(1, len(steps) + 1)
    chosen = every if FULL else {into_place, into_place + 1, source("opening").choice(every)}
    removed = 0
    for number in sorted(chosen):
        code, _ = spawn(guardian, number, *words)
        found, where = left_below(home), (number, steps[number - 1])
        assert code == -signal.SIGKILL, where
        ran = guardian.run("guardian:forget", won.bounty)
        assert left_below(home) == [], where
        assert all(one["kept"] == [] for one in ran.events), where
        assert sum(int(str(one["file_count"])) for one in ran.events) >= len(found), where
        removed += len(found)
    assert removed >= 2
