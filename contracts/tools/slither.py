#!/usr/bin/env python3
"""slither over the Hub, each of its findings answered by name.

slither-answers.toml has for each kind of finding the functions or variables where it is expected, and why it is right
there. Exit 1 for a finding that nobody answered, and for an answer without its finding.

    slither.py --slither SLITHER
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib
import typing

CONTRACTS = pathlib.Path(__file__).resolve().parent.parent
ANSWERS = CONTRACTS / "slither-answers.toml"
FLAGS = ("--exclude-informational", "--exclude-optimization", "--fail-none")
Finding = tuple[str, str]


def found_by(slither: str) -> set[Finding]:
    """A finding of slither: the kind, and the place that it is about."""
    with tempfile.TemporaryDirectory(prefix="hub-slither-") as folder:
        file = pathlib.Path(folder) / "findings.json"
        done = subprocess.run(
            [slither, ".", *FLAGS, "--json", str(file)], cwd=CONTRACTS, capture_output=True, text=True, check=False
        )
        if not file.exists():
            raise SystemExit(f"slither did not run: {done.stderr.strip()[-2000:]}")
        report = json.loads(file.read_text(encoding="utf-8"))
    if not report["success"]:
        raise SystemExit(f"slither did not finish: {report['error']}")
    return {(each["check"], place_of(each["elements"][0])) for each in report["results"].get("detectors", [])}


def place_of(element: dict[str, typing.Any]) -> str:
    """The function, or the variable of a function, that a finding is about."""
    parent = element.get("type_specific_fields", {}).get("parent", {})
    return f"{parent['name']}.{element['name']}" if parent.get("name") else str(element["name"])


def answered() -> set[Finding]:
    rows = tomllib.loads(ANSWERS.read_text(encoding="utf-8"))["answer"]
    if any(not row["why"].strip() for row in rows):
        raise SystemExit(f"{ANSWERS.name} has an answer without a reason")
    return {(row["kind"], place) for row in rows for place in row["where"]}


def main() -> int:
    parser = argparse.ArgumentParser(description="slither over the Hub, each of its findings answered.")
    parser.add_argument("--slither", default="slither")
    found, expected = found_by(parser.parse_args().slither), answered()
    for kind, place in sorted(found - expected):
        print(f"not answered: {kind} in {place}")
    for kind, place in sorted(expected - found):
        print(f"answered, and not found any more: {kind} in {place}")
    if found != expected:
        print(f"FAILED: look at each, and answer it in contracts/{ANSWERS.name}", file=sys.stderr)
        return 1
    print(f"{len(found)} result(s) found, each of them answered")
    return 0


if __name__ == "__main__":
    sys.exit(main())
