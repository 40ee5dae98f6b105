"""``./noxw -s generate`` writes everything that is derived; ``-- --check`` only names what differs.

Names after ``--`` select single ones; ``-- --list`` shows them.
"""

import argparse
import sys

from tools.generate.derived import TOP, Derived, write
from tools.generate.everything import DERIVED


def main() -> int:
    """Write or check; 1 if a check finds a difference."""
    parser = argparse.ArgumentParser(
        prog="./noxw -s generate --", description="Write everything that is derived again."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 where something differs")
    parser.add_argument("--list", action="store_true", help="show the names, with the files of each")
    given = parser.parse_args()
    known = {each.name: each for each in DERIVED}
    if unknown := set(given.names) - set(known):
        parser.error(f"no such name: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    chosen = [known[name] for name in given.names or known]
    if given.list:
        print("\n".join(f"{each.name:<14} {each.where}" for each in chosen))
        return 0
    return _check(chosen) if given.check else _write(chosen)


def _check(chosen: list[Derived]) -> int:
    differing = [(each.name, path) for each in chosen for path, _ in each.differences()]
    for name, path in differing:
        print(f"differs: {path.relative_to(TOP)} (./noxw -s generate -- {name})")
    return 1 if differing else 0


def _write(chosen: list[Derived]) -> int:
    for each in chosen:
        for path in write(each):
            print(f"wrote {path.relative_to(TOP)}")
    return 0


sys.exit(main())
