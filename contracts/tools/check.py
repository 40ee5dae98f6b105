#!/usr/bin/env python3
"""Everything forge can say about the Hub, as the `contracts` session runs it.

Exit 0 only if the whole forge suite passes and no gas figure moved against contracts/snapshots; each night also if the
directed tests reach every line and branch of the Hub (`contracts/.local/hub.lcov`) and every planted bug of
contracts/mutants is found.
What forge kept of earlier failures is not played.
Two lanes run side by side; each step's words are printed when it is done, with its time. Needs the npm packages of
contracts and contracts/usdc to be there or reachable.

    check.py [format] [forge] [coverage] [mutants]   the first two if none is named
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

from local_stack.toolbox import ensure_npm_package, find_npm, native_program
from planting import CONTRACTS, forgetful

TOOLS = CONTRACTS / "tools"
DEFAULT = ("format", "forge")
LANES = (("mutants",), ("format", "forge", "coverage"))
TIME_LIMIT_SECONDS = 900


def commands(forge: str) -> dict[str, Sequence[str]]:
    mutants = [sys.executable, str(TOOLS / "check_mutants.py"), "--forge", forge]
    return {
        "format": [forge, "fmt", "--root", str(CONTRACTS), "--check"],
        "forge": [forge, "test", "--root", str(CONTRACTS)],
        "coverage": [sys.executable, str(TOOLS / "coverage.py"), "--forge", forge],
        "mutants": mutants,
    }


def environment() -> dict[str, str]:
    """The compiler is a node script: the node beside npm comes first on the path."""
    path = f"{pathlib.Path(find_npm()[0]).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return {**os.environ, "PATH": path, "FORGE_SNAPSHOT_CHECK": "true"}


def run_lane(steps: Sequence[str], known: dict[str, Sequence[str]], failed: list[str], say: threading.Lock) -> None:
    for step in steps:
        began = time.monotonic()
        with forgetful() as fresh:
            done = subprocess.run(
                known[step],
                cwd=CONTRACTS,
                env=environment() | fresh,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=TIME_LIMIT_SECONDS,
                check=False,
            )
        if done.returncode:
            failed.append(step)
        with say:
            print(done.stdout.strip())
            print(f"-- {step}: {'FAILED' if done.returncode else 'ok'}, {time.monotonic() - began:.1f} s", flush=True)


def print_gas() -> None:
    figures = json.loads((CONTRACTS / "snapshots/hub.gas.json").read_text(encoding="utf-8"))
    for name, used in figures.items():
        print(f"{name:<40}{int(used):>9,} gas")


def main(wanted: Sequence[str]) -> int:
    ensure_npm_package(CONTRACTS / "usdc")
    known = commands(str(native_program(ensure_npm_package(CONTRACTS), "forge")))
    if unknown := [name for name in wanted if name not in known]:
        print(f"no such check: {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    failed: list[str] = []
    say = threading.Lock()
    lanes = [[step for step in lane if step in (wanted or DEFAULT)] for lane in LANES]
    threads = [threading.Thread(target=run_lane, args=(lane, known, failed, say)) for lane in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print_gas()
    if failed:
        print(f"failed: {', '.join(sorted(failed))}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
