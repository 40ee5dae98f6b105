"""``python -m tests.cli.plays SEED …``: play what a failure names, and show what each run printed."""

import sys
import tempfile
from pathlib import Path

from tests.cli.plays.play import of_seed, perform
from tests.cli.plays.world import make_world


def main() -> int:
    failed = False
    with tempfile.TemporaryDirectory() as folder, make_world(Path(folder) / "world") as world:
        world.transcript = print
        for seed in sys.argv[1:]:
            play = of_seed(seed)
            print(play)
            judge = perform(world, play)
            failed |= bool(judge.findings)
            print(*(f"  found: {one}" for one in judge.findings), sep="\n")
            print(*(f"  by node and API together: {one}" for one in judge.together), sep="\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
