"""How a step ended, and whether that still holds: what changed since in the files that it covers."""

import hashlib
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.assurance.steps import COVERS, HUB_SOURCES, TOP

PAGE: Final = TOP / "docs" / "assurance.md"
SHOWN_PATHS: Final = 3
NOT_RUN: Final = "not run"
"""The state of a step that never ran, or that this machine cannot run."""
_ROW: Final = re.compile(r"^\| `(?P<name>[\w-]+)` \| [^|]* \| (?P<state>[^|]*) \| (?P<when>[^|]*) \|", re.MULTILINE)
_WHEN: Final = re.compile(r"(?P<date>[\d-]{10}), (?P<seconds>\d+) s, `(?P<commit>[0-9a-f]{7,40})`")


@dataclass(frozen=True, slots=True)
class StepResult:
    """How a step ended."""

    name: str
    state: str
    """``passed``, ``failed`` or ``NOT_RUN``."""
    seconds: float
    commit: str
    date: str
    summary: str
    sources: str = ""
    """The digest of what it is evidence of, where HUB_SOURCES names it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A row of the page, held against the present tree."""

    name: str
    state: str
    date: str = ""
    """Empty where it never ran."""
    seconds: float | None = None
    commit: str = ""
    commits_ago: int | None = None
    """None where this clone does not have the commit."""
    changed: tuple[str, ...] = ()
    """Covered files that are not what they were, by their paths."""

    @property
    def stale(self) -> str:
        """Why it says nothing about this tree; empty where it does."""
        if self.state != "passed":
            return self.state.strip("*")
        if self.commits_ago is None:
            return f"its commit {self.commit} is not in this clone"
        if self.changed:
            more = len(self.changed) - SHOWN_PATHS
            rest = f" and {more:,} more" if more > 0 else ""
            return f"changed since: {', '.join(self.changed[:SHOWN_PATHS])}{rest}"
        return ""

    @property
    def words(self) -> str:
        """How old it is, and what changed since, as the page has it."""
        if self.commits_ago is None:
            return ""
        changed = f"{len(self.changed):,} covered files changed" if self.changed else "nothing covered changed"
        return f"{self.commits_ago:,} commits ago, {changed}" if self.commits_ago else f"this commit, {changed}"


def read_evidence(page: str, names: Iterable[str]) -> list[Evidence]:
    """The row of each step of a page, with what git says of its commit; a step without a row never ran."""
    rows = {found["name"]: found for found in _ROW.finditer(page)}
    return [_evidence(name, rows.get(name)) for name in names]


def _evidence(name: str, row: "re.Match[str] | None") -> Evidence:
    when = _WHEN.search(row["when"]) if row else None
    if row is None or when is None:
        return Evidence(name, NOT_RUN)
    found = Evidence(name, row["state"].strip(), when["date"], float(when["seconds"]), when["commit"])
    return held_against(found, COVERS[name])


def held_against(evidence: Evidence, covers: tuple[str, ...], top: Path = TOP) -> Evidence:
    """The same with what changed from its commit to the files of the tree, committed or not."""
    count = _git(top, "rev-list", "--count", f"{evidence.commit}..HEAD")
    if count is None:
        return evidence
    patterns = [f":(glob){each}" if "*" in each and not each.startswith(":") else each for each in covers]
    changed = _git(top, "diff", "--name-only", evidence.commit, "--", *patterns)
    if changed is None:
        return evidence
    added = _git(top, "ls-files", "--others", "--exclude-standard", "--", *patterns) or ""
    paths = tuple(changed.splitlines() + added.splitlines())
    return Evidence(evidence.name, evidence.state, evidence.date, evidence.seconds, evidence.commit, int(count), paths)


def _git(top: Path, *words: str) -> str | None:
    done = subprocess.run(["git", *words], cwd=top, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def sources_digest(name: str, top: Path = TOP) -> str:
    """Changes with every source that a step is evidence of; empty for a step that names none."""
    patterns = HUB_SOURCES.get(name, ())
    files = sorted({file for pattern in patterns for file in top.glob(pattern)})
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(top)}\0{file.stat().st_size}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16] if patterns else ""


def shown_digests(page: str) -> dict[str, str]:
    """The digest of each step that the page reports as passed, empty where its row has none."""
    rows = re.findall(r"(?m)^\| `([\w-]+)` \| [^|]* \| passed \| ([^|]*) \|", page)
    return {name: "".join(re.findall(r"sources `(\w+)`", when)) for name, when in rows}
