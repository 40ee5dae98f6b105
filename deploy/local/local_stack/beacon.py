"""The local drand-compatible beacon as a child process, for a stack or a test session.

The chain is this run's own, from a random seed in a file of mode 0600; no round is served before it is due.
"""

import http.client
import json
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from beacon import LocalBeacon, make_local_beacon

from local_stack.ports import HOST
from local_stack.process import Child, StopRule, minimal_environment
from local_stack.runtime import Runtime, shared_or_own
from local_stack.toolbox import LOCAL

_RULE: Final = StopRule(grace=5.0)


class RunningBeacon:
    """A running beacon."""

    def __init__(self, runtime: Runtime, directory: Path, chain: LocalBeacon) -> None:
        self._runtime, self._directory, self.chain = runtime, directory, chain
        self.child: Child | None = None
        self.port = 0

    @property
    def url(self) -> str:
        """``http://127.0.0.1:port``, the value of SERVICE_BEACON_URLS."""
        return f"http://{HOST}:{self.port}"

    @property
    def chain_hash(self) -> str:
        """The chain's hash, the value of SERVICE_BEACON_CHAIN_HASH."""
        return self.chain.info.chain_hash

    @property
    def public_key(self) -> str:
        """The chain's key, the value of SERVICE_BEACON_PUBLIC_KEY."""
        return self.chain.info.public_key

    def kill(self) -> None:
        """SIGKILL, as an outage of every relay."""
        if self.child is not None:
            self._runtime.family.end([self.child], kill=True)

    def restart(self) -> None:
        """Start the same chain again on the same port."""
        self.child = self._spawn(self.port)
        self._runtime.family.wait(self.child, lambda: self._answers(self.port), timeout=30.0)

    def launch(self, timeout: float) -> None:
        """First start, on a free port."""
        self.child, self.port = self._runtime.start_listening(self._spawn, self._answers, timeout)

    def _spawn(self, port: int) -> Child:
        info = self.chain.info
        return self._runtime.family.spawn(
            self._directory.name,
            [
                *(sys.executable, "-m", "beacon", "--port", str(port), "--seed-file", self._directory / "seed"),
                *("--genesis", str(info.genesis_time), "--period", str(info.period_seconds)),
            ],
            environment=minimal_environment(self._directory) | {"PYTHONPATH": str(LOCAL)},
            cwd=self._directory,
            rule=_RULE,
        )

    def _answers(self, port: int) -> bool:
        connection = http.client.HTTPConnection(HOST, port, timeout=2)
        try:
            connection.request("GET", "/info")
            answer = connection.getresponse()
            return answer.status == 200 and json.loads(answer.read()) == self.chain.info_json()
        except (OSError, http.client.HTTPException, ValueError):
            return False
        finally:
            connection.close()


@contextmanager
def start(
    runtime: Runtime | None = None, *, name: str = "beacon", period_seconds: int = 1, timeout: float = 30.0
) -> Iterator[RunningBeacon]:
    """A new chain whose first round was now; in ``runtime`` (whose owner stops it) or for this with statement alone."""
    with shared_or_own(runtime) as inside:
        directory = inside.directory(name)
        seed = secrets.token_hex(32)
        inside.secret(f"{name}/seed", seed)
        chain = make_local_beacon(seed.encode(), genesis_time=int(time.time()), period_seconds=period_seconds)
        server = RunningBeacon(inside, directory, chain)
        server.launch(timeout)
        yield server
