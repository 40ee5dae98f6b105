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

from beacon import LocalBeacon, make_local_beacon

from local_stack.ports import HOST
from local_stack.process import StopRule
from local_stack.runtime import Runtime, shared_or_own
from local_stack.server import HttpServer
from local_stack.toolbox import LOCAL


class RunningBeacon(HttpServer):
    """A running beacon; ``url`` is the value of SERVICE_BEACON_URLS."""

    rule = StopRule(grace=5.0)
    python_path = LOCAL

    def __init__(self, runtime: Runtime, directory: Path, chain: LocalBeacon) -> None:
        super().__init__(runtime, directory)
        self.chain = chain

    @property
    def _ahead(self) -> Path:
        return self._directory / "ahead"

    def advance(self, seconds: int) -> None:
        """Move its clock on: rounds of up to so much later are due at once."""
        before = int(self._ahead.read_text(encoding="ascii")) if self._ahead.exists() else 0
        draft = self._ahead.with_suffix(".draft")
        draft.write_text(str(before + seconds), encoding="ascii")
        draft.replace(self._ahead)

    @property
    def chain_hash(self) -> str:
        """The chain's hash, the value of SERVICE_BEACON_CHAIN_HASH."""
        return self.chain.info.chain_hash

    @property
    def public_key(self) -> str:
        """The chain's key, the value of SERVICE_BEACON_PUBLIC_KEY."""
        return self.chain.info.public_key

    def _command(self, port: int) -> list[str | Path]:
        info = self.chain.info
        return [
            *(sys.executable, "-m", "beacon", "--port", str(port), "--seed-file", self._directory / "seed"),
            *("--genesis", str(info.genesis_time), "--period", str(info.period_seconds), "--ahead", self._ahead),
        ]

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
