"""Where the processor's time goes: flame graphs for ``docs/load``, drawn by ``./noxw -s bench -- --flames``.

py-spy samples a process from outside, so that the code is as it is deployed; only samples that hold the interpreter's
lock count, and native code that runs without it (the curve, the digest, the cipher) is not in the picture. On Linux it
needs root for a process that is not its own child.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil
from service_common.crypto.artifact import seal_directory
from service_common.crypto.x25519 import Identity

from bench.api import details, signed_reads, submission
from bench.http.load import load
from bench.seal import BINDING, LIMITS, MEMORY, content_of, open_sealed
from tests.api.conftest import running_service
from tests.api.running import start_api

TOP: Final = Path(__file__).parents[2]
PICTURES: Final = TOP / "docs/load"
PY_SPY: Final = TOP / ".local/venv-assurance/bin/py-spy"
SECONDS: Final = 8
SAMPLES: Final = 500
"""A second."""
DETAILS: Final = 1_000
"""So many that each was kept too long ago when it is its turn again."""


def draw() -> None:
    """All pictures."""
    with running_service() as service:
        signed, cold = signed_reads(service, submission(service)), details(service, DETAILS)
        api = start_api(service.runtime, service.variables)
        load(api.port, [*signed, *cold[:20]], seconds=1.0)
        worker = _largest_child(api.child.pid)
        for name, requests in (("signed-reads", signed), ("cold-details", cold)):
            with _sampled(name, "--gil", "--pid", str(worker)):
                load(api.port, requests, seconds=SECONDS + 2)
    with _sampled("sealing", "--", sys.executable, "-c", "from bench.watching.flames import seal; seal()"):
        pass


def seal() -> None:
    """A file of 1 GiB sealed and opened, over and over."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        folder, identity = Path(name), Identity.generate()
        content = content_of(folder, 2**30)
        while True:
            sealed, opened = folder / "sealed.age", folder / "opened"
            artifact = seal_directory(content.parent, identity.public_key, BINDING, sealed, limits=LIMITS)
            open_sealed(sealed, identity, opened, artifact)
            sealed.unlink()
            shutil.rmtree(opened)


@contextmanager
def _sampled(name: str, *target: str) -> Iterator[None]:
    """Sample a process for ``SECONDS`` and write its picture."""
    picture = PICTURES / f"flame-{name}.svg"
    words = ["record", "--output", picture, "--duration", SECONDS, "--rate", SAMPLES, *target]
    with subprocess.Popen([PY_SPY, *map(str, words)], stdout=subprocess.DEVNULL, cwd=TOP) as sampling:
        yield
        if sampling.wait(timeout=60) != 0:
            raise RuntimeError(f"py-spy did not draw {picture.name}")


def _largest_child(pid: int) -> int:
    """The worker: it has the application in it."""
    children = psutil.Process(pid).children(recursive=True)
    return int(max(children, key=lambda child: child.memory_info().rss).pid)
