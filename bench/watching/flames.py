"""Where the processor's time goes: flame graphs for ``docs/load``, drawn by ``./noxw -s bench -- --flames``.

py-spy samples a process from outside, so that the code is as it is deployed; only samples that hold the interpreter's
lock count, and native code that runs without it (the curve, the digest, the cipher) is not in the picture. On Linux it
needs root for a process that is not its own child.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil

from bench.api import details, signed_reads, submission
from bench.http.load import load
from tests.api.conftest import running_service
from tests.api.running import start_api

TOP: Final = Path(__file__).parents[2]
PICTURES: Final = "docs/load"
PY_SPY: Final = ".local/venv-assurance/bin/py-spy"
SECONDS: Final = 8
SAMPLES: Final = 500
"""A second."""
DETAILS: Final = 1_000
"""So many that each was kept too long ago when it is its turn again."""


def draw() -> None:
    """All pictures."""
    with running_service() as service:
        cold = details(service, DETAILS)
        signed = signed_reads(service, submission(service))  # over a block that is new now
        api = start_api(service.runtime, service.variables)
        load(api.port, [*signed, *cold[:20]], seconds=1.0)
        worker = _largest_child(api.child.pid)
        for name, requests in (("signed-reads", signed), ("cold-details", cold)):
            with _sampled(name, "--gil", "--pid", str(worker)):
                load(api.port, requests, seconds=SECONDS + 2)
    python = os.path.relpath(sys.executable, TOP)
    with _sampled("sealing", "--", python, "-c", "from bench.seal import over_and_over; over_and_over()"):
        pass


@contextmanager
def _sampled(name: str, *target: str) -> Iterator[None]:
    """Sample a process for ``SECONDS`` and write its picture."""
    picture = f"{PICTURES}/flame-{name}.svg"  # it names its own command, so that no path of this machine is in it
    words = [PY_SPY, "record", "--output", picture, "--duration", SECONDS, "--rate", SAMPLES, *target]
    with subprocess.Popen([*map(str, words)], stdout=subprocess.DEVNULL, cwd=TOP) as sampling:
        yield
        if sampling.wait(timeout=60) != 0:
            raise RuntimeError(f"py-spy did not draw {picture}")


def _largest_child(pid: int) -> int:
    """The worker: it has the application in it."""
    children = psutil.Process(pid).children(recursive=True)
    return int(max(children, key=lambda child: child.memory_info().rss).pid)
