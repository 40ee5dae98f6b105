"""``jq`` for a machine that has none: the real libjq behind the few options that ``examples/lifecycle.sh`` uses."""

import argparse
import json
import sys

import jq  # type: ignore[import-not-found]  # it has no types


def main() -> int:
    """Exit code as jq's: with ``-e`` 1 for a last result of false or null, 4 for none at all."""
    parser = argparse.ArgumentParser(prog="jq", allow_abbrev=False)
    for flag in ("-c", "-e", "-n", "-r"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--arg", nargs=2, action="append", default=[])
    parser.add_argument("filter")
    asked = parser.parse_args()
    program = jq.compile(asked.filter, args=dict(asked.arg))
    found = (program.input_value(None) if asked.n else program.input_text(sys.stdin.read())).all()
    for value in found:
        print(value if asked.r and isinstance(value, str) else json.dumps(value, separators=(",", ":")))
    if asked.e:
        return 4 if not found else 1 if found[-1] in (None, False) else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
