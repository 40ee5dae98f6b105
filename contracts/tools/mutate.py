#!/usr/bin/env python3
"""A seeded sample of small changes to the Hub, each of which the tests should notice.

Promises: the tree it is run from is never written; a run can be stopped and started again and goes on where it was
(one JSON line a mutant in contracts/.local/mutation.jsonl, keyed by the source it was made from); exit 0 only if at
least the wanted share of the mutants that compile was killed. Survivors are printed with their line.
A mutant is first given to the unit and fuzz tests, a survivor then to the invariants.

    mutate.py --forge FORGE [--sample 150] [--seed 1] [--share 0.95]
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
from collections.abc import Iterator
from dataclasses import dataclass

from check_mutants import CONTRACTS, ENVIRONMENT, copy_tree

RECORD = CONTRACTS / ".local" / "mutation.jsonl"
FILES = ("src/Hub.sol", "src/parts/*.sol")
STAGES = (["--no-match-contract", "InvariantTest|GasTest"], ["--match-contract", "InvariantTest"])
SWAPS = {
    " < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == ", " + ": " - ",
    " - ": " + ", " * ": " / ", " / ": " * ", " || ": " && ", " && ": " || ", " & ": " | ", " | ": " & ",
    " |= ": " = ", " nonReentrant": "", " onlyOwner": "", "true": "false", " ? ": " ? false && ",
}  # fmt: skip
STATEMENT = re.compile(r"^ +(?!return\b|uint|bytes|address|bool|mapping|using|struct|error|event|function|//|\*).*;$")
NUMBER = re.compile(r"(?<![\w.])\d[\d_]*(?![\w.])")


@dataclass(frozen=True)
class Mutant:
    file: str
    line: int
    before: str
    after: str

    @property
    def key(self) -> str:
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]


def mutants_of(name: str, text: str) -> Iterator[Mutant]:
    """Every single change to one file: another operator, another number, a statement less."""
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//")[0].rstrip()
        if not code.startswith("  ") or ("constant" in code and "keccak256" in code):
            continue
        for old, new in SWAPS.items():
            for found in re.finditer(re.escape(old), code):
                yield Mutant(name, number, line, code[: found.start()] + new + code[found.end() :])
        for found in NUMBER.finditer(code):
            value = str(int(found.group().replace("_", "")) + 1)
            yield Mutant(name, number, line, code[: found.start()] + value + code[found.end() :])
        if STATEMENT.match(code) and code.count("(") == code.count(")"):
            yield Mutant(name, number, line, "")


def sample(size: int, seed: int) -> list[Mutant]:
    paths = sorted(path for pattern in FILES for path in CONTRACTS.glob(pattern))
    everything = [
        mutant
        for path in paths
        for mutant in mutants_of(path.relative_to(CONTRACTS).as_posix(), path.read_text(encoding="utf-8"))
    ]
    random.Random(seed).shuffle(everything)  # noqa: S311
    return everything[:size]


def judge(forge: str, tree: pathlib.Path, mutant: Mutant) -> str:
    """`killed`, `survived`, or `stillborn` where the change does not compile."""
    path = tree / mutant.file
    original = path.read_text(encoding="utf-8")
    lines = original.splitlines()
    lines[mutant.line - 1] = mutant.after
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    try:
        return run_stages(forge, tree)
    finally:
        path.write_text(original, encoding="utf-8")


def run_stages(forge: str, tree: pathlib.Path) -> str:
    environment = {**os.environ, **ENVIRONMENT, "FOUNDRY_DENY": "never", "FOUNDRY_FUZZ_RUNS": "64"}
    for stage in STAGES:
        command = [forge, "test", "--root", str(tree), "--fail-fast", *stage]
        try:
            done = subprocess.run(
                command, cwd=tree, env=environment, capture_output=True, text=True, timeout=240, check=False
            )
        except subprocess.TimeoutExpired:
            return "killed"
        if "Compiler run failed" in done.stdout + done.stderr:
            return "stillborn"
        if done.returncode:
            return "killed"
    return "survived"


def known_results() -> dict[str, str]:
    if not RECORD.exists():
        return {}
    rows = map(json.loads, RECORD.read_text(encoding="utf-8").splitlines())
    return {row["key"]: row["result"] for row in rows}


def campaign(forge: str, chosen: list[Mutant]) -> dict[Mutant, str]:
    known = known_results()
    RECORD.parent.mkdir(exist_ok=True)
    results: dict[Mutant, str] = {}
    with tempfile.TemporaryDirectory(prefix="hub-mutation-") as folder, RECORD.open("a", encoding="utf-8") as record:
        tree = pathlib.Path(folder).resolve()
        copy_tree(tree)
        if run_stages(forge, tree) != "survived":
            raise SystemExit("the tests do not pass without a mutant")
        for place, mutant in enumerate(chosen, 1):
            if mutant.key not in known:
                known[mutant.key] = judge(forge, tree, mutant)
                row = {"key": mutant.key, "result": known[mutant.key], "file": mutant.file, "line": mutant.line}
                record.write(json.dumps(row) + "\n")
                record.flush()
            results[mutant] = known[mutant.key]
            print(f"{place}/{len(chosen)} {results[mutant]} {mutant.file}:{mutant.line}", file=sys.stderr, flush=True)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutation testing on a seeded sample.")
    parser.add_argument("--forge", default=os.environ.get("FORGE", "forge"), help="the native forge binary")
    parser.add_argument("--sample", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=0.95)
    options = parser.parse_args()
    forge = shutil.which(options.forge) or str(pathlib.Path(options.forge).resolve())
    results = campaign(forge, sample(options.sample, options.seed))
    living = [mutant for mutant, result in results.items() if result == "survived"]
    tested = [mutant for mutant, result in results.items() if result != "stillborn"]
    for mutant in living:
        print(f"survived {mutant.file}:{mutant.line}\n  - {mutant.before.strip()}\n  + {mutant.after.strip()}")
    share = 1 - len(living) / max(len(tested), 1)
    print(f"{len(tested)} mutants compiled, {len(tested) - len(living)} killed ({share:.1%}), seed {options.seed}")
    return 0 if share >= options.share else 1


if __name__ == "__main__":
    sys.exit(main())
