"""Run the long campaigns, keep what they printed, and write docs/assurance.md from the results.

Resumable: a step that passed for this commit is not run again unless named. A step that fails is reported as failed and
the others go on; the exit code is 1 when any failed. Nothing here decides what passes: the steps do. A step that cannot
run on this machine exits with 77 and is reported as not run.

What is shown of the Hub is shown of its sources: a step of HUB_SOURCES is done when it passed for the present ones,
whatever the commit, and its row names their digest, which the session `architecture` compares with the tree.

With --stale nothing runs: it lists the steps whose evidence is not of the present tree, and why; the exit code is 1
where there are any, which stops a release. With --refresh MINUTES these run, the oldest first, as long as they fit.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tools.assurance.evidence import NOT_RUN, PAGE, Evidence, StepResult, read_evidence, sources_digest
from tools.assurance.page import RESULTS, load, write_page
from tools.assurance.steps import CONTRACTS, COVERS, HUB_SOURCES, TOOLS, TOP, CampaignStep, steps

_CANNOT_RUN: Final = 77
UNFINISHED: Final = "unfinished"
STOP_SECONDS: Final = 120.0
"""How long an interrupted step may take to stop what it started; the longest of them gives its own 90."""


def main() -> int:
    """Run what is not done yet, what is named, or what is stale; or say what is."""
    parser = argparse.ArgumentParser(
        prog="assurance", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="STEP", help=f"one or more of {', '.join(COVERS)}")
    parser.add_argument(
        "--since", metavar="COMMIT", help="hub-mutants: only lines that COMMIT, of which it passed, does not have"
    )
    parser.add_argument("--stale", action="store_true", help="run nothing; list the steps whose evidence is stale")
    parser.add_argument("--refresh", type=float, metavar="MINUTES", help="run the stale steps for at most so long")
    options = parser.parse_args()
    unknown = set(options.names) - set(COVERS)
    if unknown:
        parser.error(f"no such step: {', '.join(sorted(unknown))}")
    if options.stale:
        return list_stale(_shown(options.names))
    known = steps(options.since)
    if options.refresh is not None:
        return refresh(known, _shown(options.names), options.refresh * 60)
    commit, failed = _commit(), False
    for step in known:
        done = load(step.name)
        is_done = done is not None and done.state == "passed" and _is_of(done, commit)
        wanted = step.name in options.names if options.names else not is_done
        if wanted:
            done = _run(step, commit)
        if done is not None:
            failed |= done.state == "failed"
            _print(done)
    write_page(known)
    return 1 if failed else 0


def _shown(names: Sequence[str]) -> list[Evidence]:
    return read_evidence(PAGE.read_text(encoding="utf-8"), names or list(COVERS))


def list_stale(found: Sequence[Evidence]) -> int:
    """Print a line for each step that says nothing about this tree; 1 where there are any."""
    stale = in_order_of_age(found)
    for each in stale:
        seconds = "" if each.seconds is None else f", took {each.seconds:,.0f} s"
        print(f"{each.name:<20} {each.date or 'never':<10}{seconds}: {each.stale}")
    print(f"{len(stale)} of {len(found)} are stale", file=sys.stderr)
    return 1 if stale else 0


def in_order_of_age(found: Sequence[Evidence]) -> list[Evidence]:
    """The stale ones: what never ran first, then the oldest."""
    stale = [each for each in found if each.stale]
    return sorted(stale, key=lambda each: (each.date, -(each.commits_ago or 0)))


def refresh(known: Sequence[CampaignStep], found: Sequence[Evidence], seconds: float) -> int:
    """Run stale steps in the order of their age, as long as what each took last still fits; 1 where any failed."""
    by_name, commit, failed = {step.name: step for step in known}, _commit(), False
    ends, left = time.monotonic() + seconds, list[str]()
    for each in in_order_of_age(found):
        remaining = ends - time.monotonic()
        if remaining <= _least_seconds(each):
            left.append(each.name)
            continue
        done = _run(by_name[each.name], commit, remaining)
        _print(done)
        failed |= done.state == "failed"
        if done.state == UNFINISHED:
            _tried(each.name).write_text(f"{done.seconds:.0f}", encoding="utf-8")
            left.append(each.name)
        write_page(known)
    if left:
        print(f"still stale, for want of time: {', '.join(left)}", file=sys.stderr)
    return 1 if failed else 0


def _least_seconds(each: Evidence) -> float:
    """How long a step takes at least: as its last run did, and longer than any that was ended before its end."""
    tried = _tried(each.name)
    return max(each.seconds or 0.0, float(tried.read_text(encoding="utf-8")) if tried.exists() else 0.0)


def _tried(name: str) -> Path:
    return RESULTS / f"{name}.tried"


def _print(done: StepResult) -> None:
    print(f"{done.state:<7} {done.name} ({done.seconds:.0f} s) {done.summary}", flush=True)


def _is_of(done: StepResult, commit: str) -> bool:
    """Whether a result is about the present tree."""
    return done.sources == sources_digest(done.name) if done.name in HUB_SOURCES else done.commit == commit


def _run(step: CampaignStep, commit: str, seconds: float | None = None) -> StepResult:
    """Run a step; one that takes longer than ``seconds`` is ended, and its former result stays."""
    print(f"assurance: {step.name}: {step.shows}", file=sys.stderr, flush=True)
    from local_stack.toolbox import ensure_npm_package, native_program

    forge = Path(str(native_program(ensure_npm_package(CONTRACTS), "forge"))).parent
    path = os.pathsep.join((str(forge), str(TOOLS), os.environ["PATH"]))  # halmos looks for its solver there
    environment = {**os.environ, **dict(step.environment), "PATH": path}
    sources = sources_digest(step.name)
    RESULTS.mkdir(parents=True, exist_ok=True)
    started, log = time.monotonic(), RESULTS / f"{step.name}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(step.command, cwd=step.cwd, env=environment, stdout=file, stderr=subprocess.STDOUT)
        try:
            code = process.wait(timeout=seconds)
        except KeyboardInterrupt:  # the terminal's reached the step, too, which stops what it started
            _end(process)
            raise
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            _end(process)
            return StepResult(step.name, UNFINISHED, time.monotonic() - started, commit, "", "")
    result = StepResult(
        step.name,
        {0: "passed", _CANNOT_RUN: NOT_RUN}.get(code, "failed"),
        time.monotonic() - started,
        commit,
        datetime.now(UTC).strftime("%Y-%m-%d"),
        _summary(log.read_text(errors="replace")),
        sources,
    )
    (RESULTS / f"{step.name}.json").write_text(json.dumps(asdict(result)), encoding="utf-8")
    return result


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.wait()


def _summary(log: str) -> str:
    """The line of a log that shows how it ended."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", log)
    endings = r"passed|killed|green|result\(s\) found|^not run|^FAILED"
    found = [line.strip(" =") for line in plain.splitlines() if re.search(endings, line)]
    proven = [line for line in found if line.startswith("Symbolic test result")]  # one for each contract of lemmas
    return "; ".join(proven or found[-1:])[:600]


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=TOP, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
