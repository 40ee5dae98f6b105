"""``./noxw -s bench -- --beside-former``: each figure beside that of the release before, on one machine.

Both run in turn, three times each. Of two ratios to the same reference those are compared, else the values.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.figures import median
from tests.upgrade.former import former_commit, source_of

TOP: Final = Path(__file__).resolve().parents[1]
ROUNDS: Final = 3
WORSE: Final = 0.1
"""By which share a figure may be worse without a cause in ``CHANGELOG.md``."""
_OURS: Final = {"PYTHONPATH", "VIRTUAL_ENV", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}

Lines = Sequence[Mapping[str, Any]]
"""The figures of one run, as ``bench/figures.py`` writes them."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure of both releases, the medians of the runs. ``change``: by which share what is compared is more or less
    now; ``worse``: whether that is more than ``WORSE`` away from the goal."""

    id: str
    unit: str
    former: float
    present: float
    change: float
    worse: bool


def run_beside_former(group: str) -> list[Compared]:
    """Run a group in both releases; raises ``CalledProcessError`` where a run fails."""
    former: list[Lines] = []
    present: list[Lines] = []
    source = source_of(former_commit())
    elsewhere = {name: value for name, value in os.environ.items() if name not in _OURS and not name.startswith("NOX")}
    for _ in range(ROUNDS):
        former.append(_lines(["./noxw", "-s", "bench", "--"], group, source, elsewhere))
        present.append(_lines([sys.executable, "-m", "bench"], group, TOP, os.environ))
    return list(compared(former, present))


def compared(former: Sequence[Lines], present: Sequence[Lines]) -> Iterator[Compared]:
    """What all the runs of both have measured in the same unit, in the order of the present one."""
    for line in present[0]:
        name = line["id"]
        before, now = _of(former, name), _of(present, name)
        if len(before) < len(former) or len(now) < len(present) or before[0]["unit"] != line["unit"]:
            continue
        is_ratio = {each["reference"] for each in (*before, *now)} == {line["reference"]} and line["ratio"] is not None
        measure = "ratio" if is_ratio else "value"
        base = _median(before, measure)
        change = _median(now, measure) / base - 1 if base else 0.0
        rises = _rises(str(line["goal"]))
        is_worse = rises is not None and (change < -WORSE if rises else change > WORSE)
        yield Compared(name, line["unit"], _median(before, "value"), _median(now, "value"), change, is_worse)


def _lines(command: Sequence[str], group: str, top: Path, environment: Mapping[str, str]) -> Lines:
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "lines.json"
        run = [*command, "--only", group, "--json", str(kept)]
        subprocess.run(run, cwd=top, env=dict(environment), stdout=sys.stderr, check=True)
        return [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]


def _of(runs: Sequence[Lines], name: str) -> list[Mapping[str, Any]]:
    return [line for lines in runs for line in lines if line["id"] == name]


def _median(lines: Lines, measure: str) -> float:
    return median([float(line[measure]) for line in lines])


def _rises(goal: str) -> bool | None:
    """Whether more is better, by the first bound of a goal; None where it names none."""
    bounds = [sign for sign in (">=", "<=") if sign in goal]
    return min(bounds, key=goal.index) == ">=" if bounds else None
