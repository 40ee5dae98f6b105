#!/usr/bin/env python3
"""Plants each bug of contracts/mutants in a copy of the contracts and demands that the tests find it.

The tree it is run from is never written; the named tests pass without the bugs, before the first and again
after the last, so that nothing that a bug left behind made the next one look caught; for each mutant it prints one
line, and exits 1 unless every test that the mutant names fails, and not because the copy does not compile.
A mutant is a patch with a head: first line what is planted, then one line `Caught by: <test function>` for each test.
Refuses: a patch that does not apply, a mutant without a head, a mutant that does not compile, a named test that
does not exist.

    check_mutants.py --forge FORGE [name ...]
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from planting import CONTRACTS, copy_tree, run_forge

TIME_LIMIT_SECONDS = 300


def patch(tree: pathlib.Path, mutant: pathlib.Path, *, reverse: bool = False) -> None:
    command = ["git", "apply", *(["--reverse"] if reverse else []), str(mutant)]
    # Outside any repository: git would otherwise look for the paths in the one around it.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent)}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{mutant.name} does not apply: {done.stderr.strip()}")


def run_tests(forge: str, tree: pathlib.Path, tests: list[str]) -> str:
    chosen = ["--match-test", "^(" + "|".join(tests) + r")\b"]
    done = run_forge(forge, tree, chosen, {}, TIME_LIMIT_SECONDS)
    return done.stdout + done.stderr


def survivors(output: str, tests: list[str]) -> list[str]:
    """The named tests that did not fail."""
    failed = set()
    for part in output.split("[FAIL")[1:]:
        found = re.search(r"(\w+)\([^)]*\) \((?:runs|gas):", part)
        if found:
            failed.add(found.group(1))
    return [test for test in tests if test not in failed]


def head_of(mutant: pathlib.Path) -> tuple[str, list[str]]:
    """A planted bug, and the tests that must find it."""
    head = mutant.read_text(encoding="utf-8").split("\n--- ")[0].splitlines()
    tests = [line.removeprefix("Caught by: ").strip() for line in head if line.startswith("Caught by: ")]
    if not tests:
        raise SystemExit(f"{mutant.name} names no test that catches it")
    return head[0], tests


def check_without_bugs(forge: str, tree: pathlib.Path, tests: list[str]) -> None:
    output = run_tests(forge, tree, tests)
    if survivors(output, tests) != tests or f"{len(tests)} tests passed, 0 failed" not in output:
        raise SystemExit(f"the named tests do not pass without the bugs:\n{output[-2000:]}")


def check(forge: str, tree: pathlib.Path, mutant: pathlib.Path) -> bool:
    """Whether every named test fails with the bug."""
    planted, tests = head_of(mutant)
    patch(tree, mutant)
    output = run_tests(forge, tree, tests)
    patch(tree, mutant, reverse=True)
    if "Compiler run failed" in output or "Ran " not in output:
        raise SystemExit(f"{mutant.name} was not tested:\n{output[-2000:]}")
    alive = survivors(output, tests)
    print(f"{'SURVIVED' if alive else 'caught'}  {mutant.stem}: {planted}", flush=True)
    for test in alive:
        print(f"          {test} did not fail", flush=True)
    return not alive


def main() -> int:
    parser = argparse.ArgumentParser(description="Every planted bug must be found.")
    parser.add_argument("--forge", default=os.environ.get("FORGE", "forge"), help="the native forge binary")
    parser.add_argument("names", nargs="*", help="only these mutants")
    options = parser.parse_args()
    forge = shutil.which(options.forge) or str(pathlib.Path(options.forge).resolve())
    mutants = sorted((CONTRACTS / "mutants").glob("*.patch"))
    if unknown := set(options.names) - {mutant.stem for mutant in mutants}:
        raise SystemExit(f"no such mutant: {', '.join(sorted(unknown))}")
    chosen = [mutant for mutant in mutants if not options.names or mutant.stem in options.names]
    with tempfile.TemporaryDirectory(prefix="hub-mutants-") as folder:
        tree = pathlib.Path(folder).resolve()
        copy_tree(tree)
        tests = sorted({test for mutant in chosen for test in head_of(mutant)[1]})
        check_without_bugs(forge, tree, tests)
        caught = [check(forge, tree, mutant) for mutant in chosen]
        check_without_bugs(forge, tree, tests)
    print(f"{sum(caught)} of {len(caught)} planted bugs killed")
    return 0 if all(caught) else 1


if __name__ == "__main__":
    sys.exit(main())
