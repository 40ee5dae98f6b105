"""Small changes to ``bounty_protocol.auth``, each of which its tests should notice (cosmic-ray).

The tree it is run from is never written; a copy below ``.local/assurance`` is. A campaign that was stopped goes on
where it was, and one of other sources or tests starts from the beginning. Survivors are printed with their change. Exit
code 0 only if at least 95% were killed. Run by ``./noxw -s nightly -- auth-mutants``.
"""

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Final

TOP: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = TOP / "libs/bounty_protocol/src"
TESTS: Final = TOP / "tests/protocol/auth"
WORK: Final = TOP / ".local/assurance/auth-mutants"
SESSION: Final = WORK / "session.sqlite"
COSMIC_RAY: Final = TOP / ".local/venv-assurance/bin/cosmic-ray"
WANTED_SHARE: Final = 0.95
CONFIGURATION: Final = """[cosmic-ray]
module-path = "src/bounty_protocol/auth"
timeout = 120.0
excluded-modules = []
test-command = "{command}"
[cosmic-ray.distributor]
name = "local"
"""


def main() -> int:
    """Run the campaign to its end, and return how it ended."""
    if not _is_current():
        _begin()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(WORK / "src"), os.environ.get("PYTHONPATH", "")))}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    _check_tests_pass(environment)
    subprocess.run([COSMIC_RAY, "exec", "campaign.toml", SESSION.name], cwd=WORK, env=environment, check=True)
    total, survivors = _results()
    for survivor in survivors:
        print(survivor)
    share = 1 - len(survivors) / total
    print(f"{total} mutants, {total - len(survivors)} killed ({share:.1%})")
    return 0 if share >= WANTED_SHARE else 1


def _digest() -> str:
    digest = hashlib.sha256()
    for file in sorted([*(PACKAGE / "bounty_protocol/auth").rglob("*.py"), *TESTS.rglob("*.py"), Path(__file__)]):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _is_current() -> bool:
    made_for = WORK / "made-for"
    return SESSION.exists() and made_for.exists() and made_for.read_text() == _digest()


def _begin() -> None:
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.copytree(PACKAGE, WORK / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    (WORK / "campaign.toml").write_text(CONFIGURATION.format(command=" ".join(_command())))
    subprocess.run([COSMIC_RAY, "init", "campaign.toml", SESSION.name], cwd=WORK, check=True)
    (WORK / "made-for").write_text(_digest())


def _command() -> list[str]:
    """Return the tests of this package that need no node: a mutant that no request can tell apart is none of theirs."""
    options = ["-x", "-q", "-p", "no:cacheprovider", "--rootdir", str(TOP), "-c", str(TOP / "pyproject.toml")]
    return [sys.executable, "-m", "pytest", *options, str(TESTS)]


def _check_tests_pass(environment: dict[str, str]) -> None:
    done = subprocess.run(_command(), cwd=WORK, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the tests do not pass without a mutant:\n{done.stdout[-2000:]}")


def _results() -> tuple[int, list[str]]:
    """Return how many mutants there were, and the changes nobody noticed."""
    with closing(sqlite3.connect(SESSION)) as session:
        total = session.execute("SELECT count(*) FROM work_items").fetchone()[0]
        rows = session.execute(
            "SELECT module_path, start_pos_row, operator_name, diff FROM mutation_specs JOIN work_results "
            "USING (job_id) WHERE test_outcome = 'SURVIVED' ORDER BY module_path, start_pos_row"
        ).fetchall()
    return total, [f"survived {path}:{line} {operator}\n{_changed(diff)}" for path, line, operator, diff in rows]


def _changed(diff: str | None) -> str:
    lines = (diff or "").splitlines()
    return "\n".join(line for line in lines if line[:1] in "+-" and line[:3] not in {"+++", "---"})


if __name__ == "__main__":
    sys.exit(main())
