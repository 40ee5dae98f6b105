"""``docs/benchmarks.md``, from the last run of each group.

A figure is shown as it was measured, with its goal and whether it was met, the day, the commit and how busy the machine
was at the start. A group that was not run in this folder keeps what the page has of it.
"""

import json
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from bench.figures import Figure

TOP: Final = Path(__file__).resolve().parents[1]
KEPT: Final = TOP / ".local/bench"
PAGE: Final = TOP / "docs/benchmarks.md"
HEAD: Final = """# Benchmarks

`./noxw -s bench` measures; `-- --only GROUP` one group, and `large` and `replay` only so: each takes
a quarter of an hour, `replay` more. Each figure is the median of several rounds; a reference runs in turn with ours, in
the same session on the same machine. Shared machines are noisy, so a ratio is worth more than an absolute figure, and
no test asserts one. This page is written by that session, from the last run of each group.
"""

MEASURED: Final = ("id", "value", "reference", "ratio", "goal", "met")


def keep(group: str, figures: Sequence[Figure]) -> None:
    """Remember a group's figures, with when and where they were measured."""
    _keep(f"{group}.json", figures=[json.loads(figure.line()) for figure in figures])


def measure(name: str) -> list[str]:
    """Run a group; its lines."""
    figures: list[Figure] = []

    def report(figure: Figure) -> None:
        figures.append(figure)
        print(figure.line(), flush=True)

    import_module(f"bench.{name}").run(report)
    keep(name, figures)
    return [figure.line() for figure in figures]


def _keep(name: str, **measured: object) -> None:
    run = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": _commit(),
        "load": round(os.getloadavg()[2], 1),
    }
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / name).write_text(json.dumps(run | measured), encoding="utf-8")


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
    if (run := _kept(f"{group}.json")) is not None:
        return f"\n## {group}\n\n{_when(run)}.\n\n{_table(MEASURED, map(_cells, run['figures']))}"
    kept = former.get(group, f"## {group}\n\nNot measured yet.")
    return f"\n{kept.rstrip()}\n"


def _kept(name: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads((KEPT / name).read_text(encoding="utf-8"))
    except OSError:
        return None
    return found


def _when(run: Mapping[str, Any]) -> str:
    commit, load = run["commit"][:10], run["load"]
    return f"{run['date']}, `{commit}`, {load} processes busy in the quarter of an hour before its end"


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = (" | ".join(map(str, row)) for row in (heads, *rows))
    head, *others = (f"| {line} |\n" for line in lines)
    return "".join([head, "|---" * len(heads) + "|\n", *others])


def _cells(figure: Mapping[str, Any]) -> Sequence[object]:
    reference = "" if figure["reference"] is None else f"{figure['reference']}: {figure['reference_value']:,}"
    ratio = "" if figure["ratio"] is None else figure["ratio"]
    met = {True: "yes", False: "**no**", None: ""}[figure["ok"]]
    goal = str(figure["goal"]).replace("|", "/")
    return f"`{figure['id']}`", f"{figure['value']:,} {figure['unit']}", reference, ratio, goal, met


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=TOP, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
