"""``./noxw -s advisories``: whether an advisory is known of any pin, of Python's and of npm's.

Each file of pins is put to pip-audit, each lock file to ``npm audit``. Where a registry offers no advisories, or cannot
be reached, the output states "not asked" with the reason, and never that there are none.

Exit code 1 where there is one, and 77 where something was not asked.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from local_stack.toolbox import NoNpm, find_npm

TOP: Final = Path(__file__).resolve().parent.parent
PINS: Final = ("constraints.txt", "nox.txt", "assurance.txt")
"""Files of ``requirements`` that between them have every pin."""
NOT_RUN: Final = 77
SECONDS: Final = 600


@dataclass(frozen=True, slots=True)
class AdvisoryAnswer:
    """What became of one file."""

    file: str
    found: tuple[str, ...] = ()
    """A line for each advisory."""
    refused: str = ""
    """Why it, or some of its pins, could not be asked about."""


def main() -> int:
    """Ask about every file."""
    asked = [*map(of_python, PINS), *map(of_npm, lock_files())]
    for each in asked:
        for line in each.found:
            print(f"ADVISORY: {each.file}: {line}")
        if each.refused:
            print(f"not asked: {each.file}: {each.refused}")
    answered = [each for each in asked if not each.refused]
    print(f"advisories: {len(answered)} of {len(asked)} files asked about, {sum(len(a.found) for a in asked)} found")
    return exit_code(asked)


def exit_code(asked: list[AdvisoryAnswer]) -> int:
    """What the session ends with."""
    if any(each.found for each in asked):
        return 1
    return NOT_RUN if any(each.refused for each in asked) else 0


def lock_files() -> Iterator[Path]:
    """Every lock file of npm that is committed."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "*package-lock.json"], cwd=TOP, capture_output=True, check=True, text=True
    )
    yield from (TOP / name for name in listed.stdout.split("\0") if name)


def of_python(name: str) -> AdvisoryAnswer:
    """Advisories of one file of pins."""
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--no-deps", "--progress-spinner=off"]
    file = f"requirements/{name}"
    return read_python(file, *_run([*command, "--format=json", f"--requirement={file}"], TOP))


def read_python(file: str, output: str, errors: str) -> AdvisoryAnswer:
    """What pip-audit answered."""
    read = _object(output)
    if "dependencies" not in read:
        return AdvisoryAnswer(file, refused=_last_line(errors) or "no answer")
    pins = read["dependencies"]
    skipped = [each for each in pins if "skip_reason" in each]
    found = (f"{each['name']} {each['version']}: {one['id']}" for each in pins for one in each.get("vulns", []))
    return AdvisoryAnswer(
        file, tuple(found), f"{len(skipped)} of {len(pins)} pins are not known there" if skipped else ""
    )


def of_npm(lock: Path) -> AdvisoryAnswer:
    """Advisories of one lock file."""
    file = str(lock.relative_to(TOP))
    try:
        command = [*find_npm(), "audit", "--package-lock-only", "--json"]
    except NoNpm as reason:
        return AdvisoryAnswer(file, refused=str(reason))
    return read_npm(file, *_run(command, lock.parent))


def read_npm(file: str, output: str, errors: str) -> AdvisoryAnswer:
    """What npm answered."""
    read = _object(output)
    if "vulnerabilities" not in read:
        return AdvisoryAnswer(
            file, refused=str(read.get("message") or _last_line(errors) or "no answer").partition(" - ")[0]
        )
    return AdvisoryAnswer(
        file, tuple(f"{name}: {each['severity']}" for name, each in sorted(read["vulnerabilities"].items()))
    )


def _run(command: list[str], folder: Path) -> tuple[str, str]:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", type(error).__name__
    return done.stdout, done.stderr


def _object(text: str) -> dict[str, Any]:
    try:
        read = json.loads(text)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def _last_line(text: str) -> str:
    return next((line.strip()[:200] for line in reversed(text.splitlines()) if line.strip()), "")


if __name__ == "__main__":
    sys.exit(main())
