"""The watchtower beside a local stack, run as docs/watchtower.md has it."""

import http.client
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from local_stack.ports import HOST
from local_stack.server import HttpServer
from local_stack.stack import Stack

INTERVAL_SECONDS: Final = 20
"""After each check; on this stack one takes a moment."""
FIRST_CHECK_SECONDS: Final = 120.0
LINES: Final = 20
"""What is shown of its output."""


class Watchtower(HttpServer):
    """``service-audit --watch`` of a stack, by the chain's own node; ``url`` with ``/metrics`` is for Prometheus."""

    def __init__(self, stack: Stack, front: str) -> None:
        """Not yet running; ``front`` is the address by which it reads the API."""
        super().__init__(stack.runtime, stack.runtime.directory("watchtower"))
        self._stack, self._front = stack, front
        self.port = stack.runtime.port()

    @property
    def runs(self) -> bool:
        """Whether its process is there."""
        return self.child is not None and self.child.exit_status() is None

    def start(self) -> None:
        """Have it run; its first check has ended then."""
        if not self.runs:
            self.child = self._spawn(self.port)
            self._runtime.family.wait(self.child, lambda: self._answers(self.port), FIRST_CHECK_SECONDS)

    def state(self) -> tuple[int, str]:
        """What ``systemctl status`` shows of its unit, and its exit code."""
        code, active = (0, "active (running)") if self.runs else (3, "inactive (dead)")
        printed = [] if self.child is None else self.child.tail(LINES)
        return code, "\n".join(["watchtower.service", f"     Active: {active}", *printed]) + "\n"

    def _command(self, port: int) -> Sequence[str | Path]:
        hub = self._stack.hub
        return [
            *(Path(sys.executable).parent / "service-audit", "--watch", str(INTERVAL_SECONDS)),
            *("--rpc", self._stack.anvil.url, "--hub", hub.hub.address, "--from-block", str(hub.deploy_block)),
            *("--api", self._front, "--metrics-port", str(port)),
        ]

    def _answers(self, port: int) -> bool:
        connection = http.client.HTTPConnection(HOST, port, timeout=2)
        try:
            connection.request("GET", "/metrics")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
