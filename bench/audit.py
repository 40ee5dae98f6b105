"""``service-audit`` as a person runs it: a whole process over a finished bounty, chain and API on this machine."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from local_stack import anvil, postgres

from bench.figures import Figure, Report, median
from tests.cli.api_twin import ApiTwin
from tests.cli.audited import played
from tests.cli.ledger import LONG_AGO, make_ledger
from tests.cli.terminal import Terminal
from tests.servers import DatabaseServer

ROUNDS: Final = 7
PROGRAM: Final = Path(sys.executable).parent / "service-audit"


def run(report: Report) -> None:
    """Measure the group."""
    genesis = int(time.time()) - LONG_AGO
    with (
        tempfile.TemporaryDirectory() as name,
        postgres.start() as server,
        anvil.start(mining="automine", genesis_time=genesis) as node,
        make_ledger(node) as ledger,
    ):
        database = DatabaseServer.on(server).new()
        with played(ledger, database, Path(name)) as audited:
            api = ApiTwin(ledger)
            audited.serve(api)
            value = _seconds(Terminal(Path(name), api.variables()), audited.awarded)
            api.close()
        database.close()
    report(Figure("audit.bounty", value, "s", "<= 3", value <= 3))


def _seconds(shell: Terminal, bounty: str) -> float:
    rounds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        subprocess.run(
            [PROGRAM, bounty], cwd=shell.home, env=shell.variables(), check=True, capture_output=True, timeout=60
        )
        rounds.append(time.perf_counter() - started)
    return median(rounds)
