"""docs/assurance.md: a row for each step, from the results on this machine and the rows that others wrote."""

import json
import os
import platform
import re
from collections.abc import Sequence
from typing import Final

from tools.assurance.evidence import NOT_RUN, PAGE, StepResult, read_evidence
from tools.assurance.steps import TOP, CampaignStep

RESULTS: Final = TOP / ".local" / "assurance"
_FORMER: Final = re.compile(
    r"^\| `(?P<name>[\w-]+)` \| [^|]* \| (?P<state>[^|]*) \| (?P<when>[^|]*) \|"
    r"(?:(?: (?:[\d,]+ commits ago|this commit)[^|]*| ) \|)?(?: (?P<last>.*) \|)?$",
    re.MULTILINE,
)
HEAD: Final = """# Assurance

Campaigns that are too long for every change: `./noxw -s assurance` runs what has not passed for the present
commit, `./noxw -s assurance -- STEP` one of them. This page is written by that session.

A row about the Hub names the digest of the sources that it is evidence of: `./noxw -s architecture` fails
where they have changed since.

"Since then" is of the time of writing: how many commits ago a step ran, and how many of the files that it covers have
changed since (`COVERS` of `tools/assurance/steps.py`). `./noxw -s assurance -- --stale` says it of the present tree,
and ends with 1 where anything is stale, which stops a release; `./noxw -s assurance -- --refresh 60` runs what is
stale, the oldest first, for an hour.
"""


def load(name: str) -> StepResult | None:
    """The result of a step on this machine."""
    try:
        return StepResult(**json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write_page(known: Sequence[CampaignStep]) -> None:
    """Write the page, from every result there is; a step that did not run on this machine keeps its former row."""
    former = {found["name"]: found for found in _FORMER.finditer(PAGE.read_text(encoding="utf-8"))}
    cells = {}
    for step in known:
        result, row = load(step.name), former.get(step.name)
        if result is not None and (row is None or result.state != NOT_RUN or row["state"] == NOT_RUN):
            cells[step.name] = _cells(result)
        elif row is not None:
            cells[step.name] = (row["state"], row["when"], row["last"] or "")
        else:
            cells[step.name] = (NOT_RUN, "", "")
    bare = "\n".join(f"| `{step.name}` | {step.shows} | {' | '.join(cells[step.name][:2])} |" for step in known)
    since = {each.name: each.words for each in read_evidence(bare, [step.name for step in known])}
    rows = [
        f"| `{step.name}` | {step.shows} | {state} | {when} | {since[step.name]} | {last} |"
        for step in known
        for state, when, last in [cells[step.name]]
    ]
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} cores"
    table = "\n".join(("| step | shows | result | when | since then | last line |", "|---|---|---|---|---|---|", *rows))
    runs = f"## The runs of `steady`\n\n{_steady_runs()}\n"
    PAGE.write_text(f"{HEAD}\nLast written on {machine}.\n\n{table}\n\n{runs}", encoding="utf-8")


def _cells(result: StepResult) -> tuple[str, str, str]:
    state = f"**{result.state}**" if result.state == "failed" else result.state
    when = f"{result.date}, {result.seconds:.0f} s, `{result.commit[:10]}`"
    return state, when + (f", sources `{result.sources}`" if result.sources else ""), result.summary


def _steady_runs() -> str:
    """The table that the newest run of ``steady`` printed, here or, as the page has it, elsewhere."""
    for text in ((RESULTS / "steady.log"), PAGE):
        lines = text.read_text(encoding="utf-8", errors="replace").splitlines() if text.exists() else []
        if table := [line for line in lines if re.match(r"\| (run|\d+) \|", line)]:
            return "\n".join([table[0], "|---" * (table[0].count("|") - 1) + "|", *table[1:]])
    return "Not run."
