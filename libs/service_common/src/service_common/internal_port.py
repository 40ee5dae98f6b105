"""The internal port of every process: ``/healthz``, ``/readyz``, ``/metrics``, for probes and scrapers, never public.

Promises: ``/healthz`` is 200 while the process lives, whatever it depends on; ``/readyz`` is 200 when every named
dependency answers and 503 naming those that do not, checked at most once a second however often it is asked.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

from prometheus_client import CollectorRegistry, generate_latest, multiprocess
from prometheus_client.registry import REGISTRY

from service_common.log import get_logger

Check = Callable[[], object]
"""Returns when the dependency answers; raises when it does not."""

log = get_logger(__name__)


class Readiness:
    """The state of this process's dependencies."""

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._checks = checks
        self._lock = Lock()
        self._checked_at = float("-inf")
        self._failing: tuple[str, ...] = ()

    def failing(self) -> tuple[str, ...]:
        """Names of the dependencies that do not answer."""
        with self._lock:
            if time.monotonic() - self._checked_at > 1:
                self._failing = tuple(name for name, check in self._checks.items() if not _answers(name, check))
                self._checked_at = time.monotonic()
            return self._failing


def serve_internal_port(port: int, checks: Mapping[str, Check]) -> ThreadingHTTPServer:
    """Start answering in a thread; the caller may ``shutdown()`` it."""
    readiness = Readiness(checks)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name http.server calls
            if self.path == "/readyz":
                failing = readiness.failing()
                body = json.dumps({"ready": not failing, "failing": failing}).encode()
                self._answer(503 if failing else 200, "application/json", body)
            elif self.path == "/healthz":
                self._answer(200, "text/plain; charset=utf-8", b"ok\n")
            elif self.path == "/metrics":
                self._answer(200, "text/plain; version=0.0.4; charset=utf-8", generate_latest(_registry()))
            else:
                self._answer(404, "application/json", b"{}")

        def _answer(self, status: int, media_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Probes are not worth a line."""

    server = ThreadingHTTPServer((os.environ.get("SERVICE_INTERNAL_HOST", "127.0.0.1"), port), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, name="internal-port", daemon=True).start()
    return server


def _registry() -> CollectorRegistry:
    """This process's metrics, or those of all its workers where they share a directory."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry


def _answers(name: str, check: Check) -> bool:
    try:
        check()
    except Exception as error:  # noqa: BLE001  # whatever a dependency's library raises: it does not answer
        log.warning("dependency does not answer", dependency=name, error=type(error).__name__)
        return False
    return True
