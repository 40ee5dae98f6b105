"""``docs/benchmarks.md``: one table, from the last run of each group.

A figure is shown as it was measured, with its day, its goal and whether it was met. A group that was not run in this
folder keeps the rows that the page has of it.
"""

import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from bench.figures import Figure

TOP: Final = Path(__file__).resolve().parents[1]
KEPT: Final = TOP / ".local/bench"
PAGE: Final = TOP / "docs/benchmarks.md"
_ROW: Final = re.compile(r"(?m)^\| `(\w+)\..*$")


def measure(name: str) -> list[str]:
    """Run a group, keep its figures, and return their lines."""
    figures: list[Figure] = []

    def report(figure: Figure) -> None:
        figures.append(figure)
        print(figure.line(), flush=True)

    import_module(f"bench.{name}").run(report)
    KEPT.mkdir(parents=True, exist_ok=True)
    run = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "load": round(os.getloadavg()[2], 1),  # how busy the machine was in the quarter of an hour before
        "figures": [json.loads(figure.line()) for figure in figures],
    }
    (KEPT / f"{name}.json").write_text(json.dumps(run), encoding="utf-8")
    return [figure.line() for figure in figures]


def write_page(groups: Sequence[str]) -> None:
    """Write the rows of all groups between the page's table head and what follows the table."""
    page = PAGE.read_text(encoding="utf-8")
    shown = list(_ROW.finditer(page))
    former: dict[str, list[str]] = {}
    for row in shown:
        former.setdefault(row[1], []).append(row[0])
    rows = [row for group in groups for row in _measured(group) or former.get(group, [])]
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} cores"
    head = re.sub(r"(?m)^Machine: .*$", f"Machine: {machine}.", page[: shown[0].start()])
    PAGE.write_text(head + "\n".join(rows) + page[shown[-1].end() :], encoding="utf-8")


def _measured(group: str) -> list[str]:
    kept = KEPT / f"{group}.json"
    if not kept.exists():
        return []
    run = json.loads(kept.read_text(encoding="utf-8"))
    return [_row(run, figure) for figure in run["figures"]]


def _row(run: Mapping[str, Any], figure: Mapping[str, Any]) -> str:
    reference = "" if figure["reference"] is None else f"{figure['reference']}: {figure['reference_value']:,}"
    ratio = "" if figure["ratio"] is None else figure["ratio"]
    met = {True: "yes", False: "**no**", None: ""}[figure["ok"]]
    goal = str(figure["goal"]).replace("|", "/")
    value = f"{figure['value']:,} {figure['unit']}"
    return f"| `{figure['id']}` | {value} | {reference} | {ratio} | {goal} | {met} | {run['date']}, {run['load']} |"
