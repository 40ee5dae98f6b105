"""``docs/benchmarks.md``, from the last run of each group.

A figure is shown as it was measured, with its goal and whether it was met, the day, the commit and how busy the machine
was at the start. A group that was not run in this folder keeps what the page has of it.
"""

import json
import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench.figures import Figure

TOP: Final = Path(__file__).resolve().parents[1]
KEPT: Final = TOP / ".local/bench"
PAGE: Final = TOP / "docs/benchmarks.md"
HEAD: Final = """# Benchmarks

`./noxw -s bench` measures; `-- --only GROUP` one group, and `large` and `triage` only so: they take half an hour
and ten minutes. Each figure is the median of several rounds; a reference runs in turn with ours, in the same
session on the same machine. Shared machines are noisy, so a ratio is worth more than an absolute figure, and no
test asserts one. This page is written by that session, from the last run of each group.
"""


def keep(group: str, figures: Sequence[Figure]) -> None:
    """Remember a group's figures, with when and where they were measured."""
    KEPT.mkdir(parents=True, exist_ok=True)
    run = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": _commit(),
        "load": round(os.getloadavg()[2], 1),
        "figures": [json.loads(figure.line()) for figure in figures],
    }
    (KEPT / f"{group}.json").write_text(json.dumps(run), encoding="utf-8")


def write_page(groups: Sequence[str]) -> None:
    """The page, from everything that is remembered and what it had."""
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} cores"
    former = sections(PAGE.read_text(encoding="utf-8"))
    text = "".join(_section(group, former) for group in groups)
    PAGE.write_text(f"{HEAD}\nMachine: {machine}.\n{text}", encoding="utf-8")


def sections(page: str) -> dict[str, str]:
    """The page's sections by their group, each from its heading to the next one."""
    return {found[1]: found[0] for found in re.finditer(r"(?ms)^## (\S+)$.*?(?=^## |\Z)", page)}


def _section(group: str, former: Mapping[str, str]) -> str:
    try:
        run = json.loads((KEPT / f"{group}.json").read_text(encoding="utf-8"))
    except OSError:
        return "\n" + former.get(group, f"## {group}\n\nNot measured yet.\n").rstrip("\n") + "\n"
    rows = "".join(map(_row, run["figures"]))
    when = (
        f"{run['date']}, `{run['commit'][:10]}`, {run['load']} processes busy in the quarter of an hour before its end"
    )
    return (
        f"\n## {group}\n\n{when}.\n\n| id | value | reference | ratio | goal | met |\n|---|---|---|---|---|---|\n{rows}"
    )


def _row(figure: dict[str, Any]) -> str:
    reference = "" if figure["reference"] is None else f"{figure['reference']}: {figure['reference_value']:,}"
    ratio = "" if figure["ratio"] is None else figure["ratio"]
    met = {True: "yes", False: "**no**", None: ""}[figure["ok"]]
    goal = str(figure["goal"]).replace("|", "/")
    return f"| `{figure['id']}` | {figure['value']:,} {figure['unit']} | {reference} | {ratio} | {goal} | {met} |\n"


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=TOP, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
