#!/usr/bin/env python3
"""Which lines and branches of the Hub the directed tests reach, as `forge coverage` counts them without the optimizer.

Fuzz cases and random histories are left out: each line has a test that was written for it. Prints a row for each file
of the Hub and writes the report for other tools (lcov). Exit 1 where a line or a branch of the Hub is not reached.

    coverage.py --forge FORGE [--lcov FILE]
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
from dataclasses import dataclass

from planting import CONTRACTS, ENVIRONMENT, forgetful

LCOV = CONTRACTS / ".local" / "hub.lcov"
ENTRY = "src/Hub.sol"
PARTS = "src/parts/"
RANDOM = "Fuzz|Invariant"
GAS = "Gas"
"""Its figures are those of the deployed build: it would write others."""


@dataclass
class Row:
    """Lines and branches of one file: how many there are, how many were reached, and which were not."""

    lines: int = 0
    reached_lines: int = 0
    branches: int = 0
    reached_branches: int = 0

    @property
    def is_whole(self) -> bool:
        return (self.lines, self.branches) == (self.reached_lines, self.reached_branches)


def rows_of(lcov: str) -> dict[str, Row]:
    """Each file of a report."""
    found: dict[str, Row] = {}
    row = Row()
    for line in lcov.splitlines():
        kind, _, value = line.partition(":")
        if kind == "SF":
            row = found.setdefault(value, Row())
        elif kind == "DA":
            row.lines += 1
            row.reached_lines += value.split(",")[1] != "0"
        elif kind == "BRDA":
            row.branches += 1
            row.reached_branches += value.split(",")[3] not in {"-", "0"}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="The lines and branches of the Hub that forge's tests reach.")
    parser.add_argument("--forge", default=os.environ.get("FORGE", "forge"))
    parser.add_argument("--lcov", type=pathlib.Path, default=LCOV)
    options = parser.parse_args()
    options.lcov.parent.mkdir(parents=True, exist_ok=True)
    command = [options.forge, "coverage", "--no-match-contract", f"{RANDOM}|{GAS}"]
    command += ["--report", "lcov", "--report-file", str(options.lcov)]
    with forgetful() as fresh:
        done = subprocess.run(
            command,
            cwd=CONTRACTS,
            env={**os.environ, **ENVIRONMENT, **fresh},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"forge coverage failed: {(done.stdout + done.stderr).strip()[-2000:]}")
    every = rows_of(options.lcov.read_text(encoding="utf-8"))
    rows = {ENTRY: every.get(ENTRY, Row())} | {name: row for name, row in every.items() if name.startswith(PARTS)}
    for name, row in rows.items():
        lines, branches = (f"{row.reached_lines} of {row.lines}", f"{row.reached_branches} of {row.branches}")
        print(f"{name:<28}{lines:>12} lines{branches:>10} branches")
    lacking = [name for name, row in rows.items() if not row.is_whole or (name == ENTRY and row.lines == 0)]
    if lacking:
        print(f"not reached whole: {', '.join(lacking)}; {options.lcov} names the lines", file=sys.stderr)
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main())
