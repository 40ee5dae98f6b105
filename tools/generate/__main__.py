"""``./noxw -s generate`` writes everything that is derived; ``-- --check`` only names what differs.

Names after ``--`` select single ones; ``-- --help`` shows them.
"""

import argparse
import sys

from tools.generate.derived import TOP, write
from tools.generate.everything import DERIVED


def main() -> int:
    """Write or check; 1 if a check finds a difference."""
    parser = argparse.ArgumentParser(
        prog="./noxw -s generate --", description="Write everything that is derived again."
    )
    known = {each.name: each for each in DERIVED}
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these of {', '.join(known)}")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 where something differs")
    given = parser.parse_args()
    if unknown := set(given.names) - set(known):
        parser.error(f"no such name: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    chosen = [known[name] for name in given.names or known]
    differing = 0
    for each in chosen:
        changed = [path for path, _ in each.differences()] if given.check else write(each)
        differing += len(changed)
        for path in changed:
            print(f"{'differs:' if given.check else 'wrote'} {path.relative_to(TOP)} ({each.name})")
    return 1 if given.check and differing else 0


sys.exit(main())
