"""The internal port of every process: ``/healthz``, ``/serving``, ``/readyz``, ``/metrics``; for probes, people and
scrapers, never public.

``/healthz`` is 200 while the process lives, whatever it depends on. ``/readyz`` is 200 when every named dependency
answers and 503 naming those that do not, checked at most once a second however often it is requested, and answered
within ``CHECK_SECONDS`` whatever hangs. ``/serving`` shows whether to send work here: 503 until every dependency has
answered once, so that a process with a wrong configuration takes over from nobody; from then on 200 as long as the
process itself answers, so that an outage they share takes no process out of service. ``/metrics`` shows what the
process counts, of which release it is, and for each dependency whether it answers.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock, Thread
from typing import Final

from bounty_protocol.clock import Clock, SystemClock
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import REGISTRY

from service_common.common_settings import read_internal_host
from service_common.config import EnvironmentReader
from service_common.log import get_logger
from service_common.timeouts import BoundedCall, Figures

CHECK_SECONDS: Final = 3.0
_CLOCK: Final = SystemClock()
_TEXT: Final = "text/plain; charset=utf-8"
Check = Callable[[], object]
"""Returns when the dependency answers; raises when it does not."""
Answer = tuple[int, str, bytes]
"""Status, media type, body."""

log = get_logger(__name__)


class Readiness:
    """The state of this process's dependencies."""

    def __init__(self, checks: Mapping[str, Check], own: Check | None = None, clock: Clock = _CLOCK) -> None:
        self._checks = {name: BoundedCall(check) for name, check in checks.items()}
        self._own = None if own is None else BoundedCall(own)
        self._clock, self._lock = clock, Lock()
        self._checked_at = float("-inf")
        self._failing: tuple[str, ...] = ()
        self._was_ready = False

    def failing(self) -> tuple[str, ...]:
        """Return the names of the dependencies that do not answer."""
        with self._lock:
            if self._clock.monotonic() - self._checked_at > 1:
                self._failing = _silent(self._checks)
                self._checked_at = self._clock.monotonic()
            return self._failing

    def serving(self) -> bool:
        """Return whether traffic should be sent to this process."""
        self._was_ready = self._was_ready or not self.failing()
        return self._was_ready and (self._own is None or not _silent({"http": self._own}))

    def figures(self) -> Iterator[Metric]:
        """Yield for each dependency whether it answers."""
        failing = self.failing()
        dependencies = GaugeMetricFamily(
            "service_dependency_up",
            "1 for each dependency that answers, as in `/readyz`, 0 for each that does not",
            labels=["dependency"],
        )
        for name in self._checks:
            dependencies.add_metric([name], float(name not in failing))
        yield dependencies


def _build_info() -> Metric:
    """Return of which release this process is."""
    program = Path(sys.argv[0]).resolve().name  # resolve the image's name "service" to service-api
    try:
        release = version(program)
    except PackageNotFoundError:
        release = "unknown"
    build = GaugeMetricFamily(
        "service_build_info", "1: the release of this process", labels=["program", "version", "revision"]
    )
    build.add_metric([program, release, os.environ.get("SERVICE_REVISION", "unknown")], 1)  # the image sets the last
    return build


def serve_internal_port(port: int, checks: Mapping[str, Check], own: Check | None = None) -> ThreadingHTTPServer:
    """Start answering in a thread; the caller may ``shutdown()`` the server. ``own`` probes this process's
    public port.
    """
    readiness, of_process, build = Readiness(checks, own), CollectorRegistry(), _build_info()
    of_process.register(Figures(lambda: (build, *readiness.figures()), 2 * CHECK_SECONDS))

    def readyz() -> Answer:
        failing = readiness.failing()
        body = json.dumps({"ready": not failing, "failing": failing}).encode()
        return 503 if failing else 200, "application/json", body

    def serving() -> Answer:
        return (200, _TEXT, b"yes\n") if readiness.serving() else (503, _TEXT, b"no\n")

    def metrics() -> Answer:
        return (
            200,
            "text/plain; version=0.0.4; charset=utf-8",
            generate_latest(REGISTRY) + generate_latest(of_process),
        )

    answers: dict[str, Callable[[], Answer]] = {
        "/readyz": readyz,
        "/serving": serving,
        "/healthz": lambda: (200, _TEXT, b"ok\n"),
        "/metrics": metrics,
    }

    class InternalHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name http.server calls
            status, media_type, body = answers.get(self.path, lambda: (404, "application/json", b"{}"))()
            self.send_response(status)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Log no probes."""

    host = read_internal_host(EnvironmentReader(os.environ))

    class InternalServer(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        daemon_threads = True

    try:
        server = InternalServer((host, port), InternalHandler)
    except OSError as error:
        sys.exit(f"cannot listen at the internal port {port} of {host}: {error.strerror}")
    Thread(target=server.serve_forever, name="internal-port", daemon=True).start()
    return server


def _silent(checks: Mapping[str, BoundedCall[object]]) -> tuple[str, ...]:
    """Return the names of the dependencies that do not answer in time, and log why."""
    failures = {name: said for name, said in outcomes(checks, CHECK_SECONDS).items() if isinstance(said, Exception)}
    for name, error in failures.items():
        reason = reason_of(error)
        log.warning(
            "dependency does not answer",
            dependency=name,
            error=type(error).__name__,
            **({} if reason is None else {"reason": reason}),
        )
    return tuple(failures)


def outcomes(checks: Mapping[str, BoundedCall[object]], seconds: float) -> dict[str, object]:
    """Run all checks at once; return what each returned, or the error with which it ended or did not in time."""
    ends, asked = time.monotonic() + seconds, {name: check.begin() for name, check in checks.items()}
    found: dict[str, object] = {}
    for name, answer in asked.items():
        try:
            found[name] = answer.result(max(0.0, ends - time.monotonic()))
        except Exception as error:  # noqa: BLE001  # any error of a dependency's library: it does not answer
            found[name] = error
    return found


def reason_of(error: Exception) -> str | None:
    """Return our own words for an error; None for a library's, which may hold an address."""
    return str(error) if type(error).__module__.startswith(("service_", "bounty_protocol.")) else None
