"""``./noxw -s bench``: run every group of benchmarks but the long ones, or ``-- --only GROUP``; ``--json FILE``
keeps the lines.

The figures of each group's last run are in ``docs/benchmarks.md``, which this session writes.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from bench.record import measure, write_page

HERE: Final = Path(__file__).parent
GROUPS: Final = sorted(
    path.stem for path in HERE.glob("*.py") if path.stem not in {"__init__", "__main__", "figures", "record"}
)
"""A group is a module here with ``run(report)``: the part of an id before its first dot."""
LONG: Final = {"large"}
"""Groups that run only where they are named."""


def main() -> int:
    """Run the chosen groups one after another."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--only", choices=GROUPS, action="append", help="one group; may be repeated")
    parser.add_argument("--json", type=Path, help="also write the lines to this file")
    options = parser.parse_args()
    chosen = options.only or [group for group in GROUPS if group not in LONG]
    lines: list[str] = []
    for name in chosen:
        print(f"bench: {name}", file=sys.stderr, flush=True)
        # Each in a process of its own: what one leaves in memory is in no figure of the next.
        with ProcessPoolExecutor(1, get_context("spawn")) as own:
            lines += own.submit(measure, name).result()
        write_page(GROUPS)
    if options.json is not None:
        options.json.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
