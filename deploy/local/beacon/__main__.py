"""``python -m beacon --port P --seed-file F --period SECONDS --genesis T``: serve until SIGTERM or SIGINT.

Prints one JSON line on stdout once it listens (``--port 0`` takes a free port). Exit code 0 after a signal.
``--ahead F`` names a file with the seconds by which its clock is ahead of this machine's; while there is none, 0.
"""

import argparse
import json
import signal
import sys
import threading
from functools import partial
from pathlib import Path

from bounty_protocol.clock import ShiftedClock
from bounty_protocol.shapes import to_json

from beacon.chain import make_local_beacon
from beacon.server import BeaconServer


def main() -> int:
    """Serve one chain."""
    parser = argparse.ArgumentParser(prog="beacon", description="A local drand-compatible beacon.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seed-file", type=Path, required=True, help="any bytes; the chain's key is derived from them")
    parser.add_argument("--period", type=int, default=3, help="seconds between rounds")
    parser.add_argument("--ahead", type=Path, help="a file with the seconds that its clock is ahead of this machine's")
    parser.add_argument("--genesis", type=int, required=True, help="time of round 1, seconds since 1970")
    arguments = parser.parse_args()
    try:
        seed = arguments.seed_file.read_bytes()
        chain = make_local_beacon(seed, genesis_time=arguments.genesis, period_seconds=arguments.period)
        clock = ShiftedClock(partial(seconds_ahead, arguments.ahead))
        server = BeaconServer((arguments.host, arguments.port), chain, clock)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    ready = {"event": "beacon.ready", "url": server.url, **to_json(chain.info)}
    sys.stdout.write(json.dumps(ready) + "\n")
    sys.stdout.flush()
    server.serve_forever(poll_interval=0.1)
    server.server_close()
    return 0


def seconds_ahead(file: Path | None) -> int:
    """Return the number in the file, which may come, change and go; 0 while there is none."""
    if file is None:
        return 0
    try:
        return int(file.read_text(encoding="ascii"))
    except FileNotFoundError:
        return 0


if __name__ == "__main__":
    sys.exit(main())
