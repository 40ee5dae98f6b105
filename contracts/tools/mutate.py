#!/usr/bin/env python3
"""Every small change to the Hub, each of which the tests should notice.

The tree it is run from is never written. A mutant goes to the unit and fuzz tests, a survivor then to the
invariants with fixed seeds. The unchanged code goes through the same tests at the start, after every tenth mutant and
at the end; results are kept only once that control has passed. A run can be stopped and started again: results are kept
as one JSON line a mutant, and count only for the same sources, tests and tools. A share is stated only when every
mutant has a result; exit 0 only if it is then at least the wanted one. Survivors are printed with their change; those
that change nothing a caller can see are listed with the reason in mutants/equivalent.toml, and are run too: one that a
test kills is not equivalent, and is refused.

    mutate.py --forge FORGE [--only GLOB] [--since COMMIT] [--limit N] [--seed 1] [--share 0.95] [--record FILE]

--since takes only the lines that a commit does not have in the same file: after a small change, what a whole run of
that commit showed of the others is still true of them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from planting import CONTRACTS, copy_tree, digest_of, run_forge

RECORD = CONTRACTS / ".local" / "mutation.jsonl"
EQUIVALENT = CONTRACTS / "mutants" / "equivalent.toml"
FILES = ("src/Hub.sol", "src/parts/*.sol")
STAGES = (["--no-match-contract", "InvariantTest|GasTest"], ["--match-contract", "InvariantTest"])
VARIABLES = {"FOUNDRY_DENY": "never", "FOUNDRY_FUZZ_RUNS": "64"}
MUTANTS_PER_CONTROL = 10
SHORTEST_LIMIT_SECONDS = 120
SWAPS = {
    " < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == ", " + ": " - ",
    " - ": " + ", " * ": " / ", " / ": " * ", " || ": " && ", " && ": " || ", " & ": " | ", " | ": " & ",
    " << ": " >> ", " >> ": " << ", " |= ": " = ", " nonReentrant": "", " onlyOwner": "", "true": "false",
    "false": "true", " ? ": " ? false && ", " + 1": "", " - 1": "", "block.chainid": "31337",
}  # fmt: skip
STATEMENT = re.compile(r"^ +(?!return\b|uint|bytes|address|bool|mapping|using|struct|error|event|function|//|\*).*;$")
FIELD = re.compile(r"\buint(\d+)\(\w+\.unwrap\(self\)(?: >> \w+)?\)")
"""A field as it is read out of a packed word."""
NUMBER = re.compile(r"(?<![\w.])\d[\d_]*(?![\w.])")


class Result(StrEnum):
    """A mutant's result."""

    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"
    STILLBORN = "does not compile"


@dataclass(frozen=True)
class Mutant:
    """One changed line."""

    file: str
    line: int
    before: str
    after: str
    operator: str = field(compare=False, repr=False)
    """What kind of change it is."""

    @property
    def key(self) -> str:
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]

    @property
    def change(self) -> tuple[str, str, str]:
        """The change without its place, as the list of equivalent ones names it."""
        return self.file, self.before.strip(), self.after.strip()


def mutants_of(name: str, text: str) -> Iterator[Mutant]:
    """Every single change to one file: another operator, another number, a narrower field, a statement less."""
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//")[0].rstrip()
        if not code.startswith("  ") or ("constant" in code and "keccak256" in code):
            continue
        for old, new in SWAPS.items():
            for found in re.finditer(rf"\b{old}\b" if old.isalpha() else re.escape(old), code):
                yield Mutant(name, number, line, code[: found.start()] + new + code[found.end() :], "another operator")
        for found in NUMBER.finditer(code):
            value = str(int(found.group().replace("_", "")) + 1)
            yield Mutant(name, number, line, code[: found.start()] + value + code[found.end() :], "another number")
        for found in FIELD.finditer(code):
            bits, read = int(found.group(1)), found.group()
            narrower = [f"({read} & {2 ** (bits - 1) - 1})"]
            if bits > 8:
                narrower.append(f"uint{bits - 8}" + read.removeprefix(f"uint{bits}"))
            for one in narrower:
                yield Mutant(name, number, line, code[: found.start()] + one + code[found.end() :], "a narrower field")
        if STATEMENT.match(code) and code.count("(") == code.count(")"):
            yield Mutant(name, number, line, "", "a statement less")


def all_mutants(only: str, seed: int) -> list[Mutant]:
    """Every mutant of the chosen files, in an order in which a part is a sample of the whole."""
    paths = {path for pattern in FILES for path in CONTRACTS.glob(pattern)}
    names = sorted(path.relative_to(CONTRACTS).as_posix() for path in paths)
    texts = {
        name: (CONTRACTS / name).read_text(encoding="utf-8") for name in names if pathlib.PurePath(name).match(only)
    }
    everything = list(dict.fromkeys(mutant for name, text in texts.items() for mutant in mutants_of(name, text)))
    random.Random(seed).shuffle(everything)  # noqa: S311
    return everything


def changed_since(commit: str, mutants: list[Mutant]) -> list[Mutant]:
    """Those of lines that are not in their file at a commit, wherever they stand in it."""
    known = {name: lines_at(commit, name) for name in {mutant.file for mutant in mutants}}
    return [mutant for mutant in mutants if mutant.before not in known[mutant.file]]


def lines_at(commit: str, name: str) -> set[str]:
    """The lines of a file at a commit: none where it was not there yet."""
    git = ["git", "show", f"{commit}:./{name}"]
    done = subprocess.run(git, cwd=CONTRACTS, capture_output=True, text=True, check=False)
    if done.returncode and "exists on disk, but not in" not in done.stderr:
        raise SystemExit(f"git does not know {commit}: {done.stderr.strip()}")
    return set(done.stdout.splitlines())


def equivalents() -> dict[tuple[str, str, str], str]:
    """The changes that nobody can see, each with the reason."""
    if not EQUIVALENT.exists():
        return {}
    rows = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("equivalent", [])
    return {(row["file"], row["before"], row["after"]): row["reason"] for row in rows}


class Campaign:
    """A copy of the contracts, and the tests that every mutant of it has to pass."""

    def __init__(self, forge: str, tree: pathlib.Path) -> None:
        self._forge = forge
        self._tree = tree
        self._limit: float = 3600
        self.controls = 0

    def control(self) -> None:
        """The unchanged code passes, or nothing that was found since the last control is believed."""
        began = time.monotonic()
        if (result := self._run_stages()) is not Result.SURVIVED:
            raise SystemExit(f"the unchanged code does not pass its tests ({result}): no result since the last control")
        self._limit = max(SHORTEST_LIMIT_SECONDS, 10 * (time.monotonic() - began))
        self.controls += 1

    def judge(self, mutant: Mutant) -> Result:
        path = self._tree / mutant.file
        original = path.read_text(encoding="utf-8")
        lines = original.splitlines()
        lines[mutant.line - 1] = mutant.after
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        try:
            return self._run_stages()
        finally:
            path.write_text(original, encoding="utf-8")

    def _run_stages(self) -> Result:
        for stage in STAGES:
            try:
                done = run_forge(self._forge, self._tree, ["--fail-fast", *stage], VARIABLES, self._limit)
            except subprocess.TimeoutExpired:
                return Result.TIMED_OUT
            if "Compiler run failed" in done.stdout + done.stderr:
                return Result.STILLBORN
            if done.returncode:
                return Result.KILLED
        return Result.SURVIVED


def known_results(record: pathlib.Path, digest: str) -> dict[str, Result]:
    """Earlier results with exactly these sources, tests and tools."""
    if not record.exists():
        return {}
    rows = map(json.loads, record.read_text(encoding="utf-8").splitlines())
    return {row["key"]: Result(row["result"]) for row in rows if row["digest"] == digest}


def run(forge: str, mutants: list[Mutant], limit: int | None, record: pathlib.Path) -> tuple[dict[Mutant, Result], int]:
    """The results of all mutants that have one, and how many controls passed in this run."""
    record.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hub-mutation-") as folder:
        tree = pathlib.Path(folder).resolve()
        copy_tree(tree)
        digest = digest_of(tree)
        known = known_results(record, digest)
        waiting = [mutant for mutant in mutants if mutant.key not in known][:limit]
        campaign = Campaign(forge, tree)
        if waiting:
            campaign.control()
        for start in range(0, len(waiting), MUTANTS_PER_CONTROL):
            batch = waiting[start : start + MUTANTS_PER_CONTROL]
            found = {mutant: campaign.judge(mutant) for mutant in batch}
            campaign.control()
            with record.open("a", encoding="utf-8") as file:
                for mutant, result in found.items():
                    known[mutant.key] = result
                    row = {
                        "digest": digest,
                        "key": mutant.key,
                        "result": result,
                        "file": mutant.file,
                        "line": mutant.line,
                    }
                    file.write(json.dumps(row) + "\n")
            print(f"{start + len(batch)}/{len(waiting)} {dict(Counter(found.values()))}", file=sys.stderr, flush=True)
    return {mutant: known[mutant.key] for mutant in mutants if mutant.key in known}, campaign.controls


def report(mutants: list[Mutant], results: dict[Mutant, Result], controls: int, wanted: float, scope: str = "") -> int:
    """Print the survivors and the counts; the exit code."""
    reasons = equivalents()
    refused = sorted(set(reasons) - {mutant.change for mutant in all_mutants("*.sol", 1)})
    living = [mutant for mutant in mutants if results.get(mutant) is Result.SURVIVED]
    for mutant in living:
        reason = reasons.get(mutant.change)
        print(f"survived {mutant.file}:{mutant.line}{f' (equivalent: {reason})' if reason else ''}")
        print(f"  - {mutant.before.strip()}\n  + {mutant.after.strip()}")
    for mutant in mutants:
        if mutant.change in reasons and results.get(mutant) in {Result.KILLED, Result.TIMED_OUT}:
            refused.append(mutant.change)
    for file, before, after in refused:
        print(f"mutants/equivalent.toml lists what is not there or not equivalent: {file}\n  - {before}\n  + {after}")
    for operator, of in Counter(mutant.operator for mutant in mutants).items():
        alive = Counter(mutant.change in reasons for mutant in living if mutant.operator == operator)
        print(f"{operator}: {of} mutants, {alive[False]} survived, {alive[True]} equivalent")
    counts = Counter(results.values())
    killed = counts[Result.KILLED] + counts[Result.TIMED_OUT]
    equivalent = sum(mutant.change in reasons for mutant in living)
    figures = (
        f"{len(mutants)} mutants{scope}, {len(results)} covered, {len(mutants) - len(results)} remaining: "
        f"{killed} killed ({counts[Result.TIMED_OUT]} by the time limit), {len(living) - equivalent} survived, "
        f"{equivalent} equivalent, {counts[Result.STILLBORN]} do not compile; {controls} controls passed"
    )
    if len(results) < len(mutants):
        print(f"incomplete, no share is claimed: {figures}")
        return 1
    share = killed / max(killed + len(living) - equivalent, 1)
    print(f"{share:.1%} of what is not equivalent: {figures}")
    return 0 if share >= wanted and not refused else 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Every small change to the Hub, each of which the tests should notice."
    )
    parser.add_argument("--forge", default=os.environ.get("FORGE", "forge"), help="the native forge binary")
    parser.add_argument("--only", default="*.sol", help="only the files that match")
    parser.add_argument("--since", metavar="COMMIT", help="only lines that this commit does not have")
    parser.add_argument("--limit", type=int, help="at most so many mutants in this run")
    parser.add_argument("--seed", type=int, default=1, help="of the order")
    parser.add_argument("--share", type=float, default=0.95)
    parser.add_argument("--record", type=pathlib.Path, default=RECORD)
    options = parser.parse_args()
    forge = shutil.which(options.forge) or str(pathlib.Path(options.forge).resolve())
    mutants = all_mutants(options.only, options.seed)
    if options.since:
        mutants = changed_since(options.since, mutants)
    results, controls = run(forge, mutants, options.limit, options.record)
    scope = f" of lines that {options.since} did not have" if options.since else ""
    return report(mutants, results, controls, options.share, scope)


if __name__ == "__main__":
    sys.exit(main())
