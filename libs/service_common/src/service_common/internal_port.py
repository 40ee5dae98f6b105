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
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest, multiprocess
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import REGISTRY, Collector

from service_common.bounded import BoundedCall
from service_common.build_info import BuildInfo
from service_common.common_settings import read_internal_host
from service_common.config import EnvironmentReader
from service_common.log import get_logger

CHECK_SECONDS: Final = 3.0
_TEXT: Final = "text/plain; charset=utf-8"
Check = Callable[[], object]
"""Returns when the dependency answers; raises when it does not."""

log = get_logger(__name__)


class Readiness:
    """The state of this process's dependencies."""

    def __init__(self, checks: Mapping[str, Check], own: Check | None = None) -> None:
        self._checks = {name: BoundedCall(check) for name, check in checks.items()}
        self._own = None if own is None else BoundedCall(own)
        self._lock = Lock()
        self._checked_at = float("-inf")
        self._failing: tuple[str, ...] = ()
        self._was_ready = False

    def failing(self) -> tuple[str, ...]:
        """Names of the dependencies that do not answer."""
        with self._lock:
            if time.monotonic() - self._checked_at > 1:
                self._failing = _silent(self._checks)
                self._checked_at = time.monotonic()
            return self._failing

    def serving(self) -> bool:
        """Whether to send work here."""
        self._was_ready = self._was_ready or not self.failing()
        return self._was_ready and (self._own is None or not _silent({"http": self._own}))


class DependencyStates(Collector):
    """``service_dependency_up`` for each dependency of a process by its name, as ``/readyz`` has it."""

    def __init__(self, names: Iterable[str], readiness: Readiness) -> None:
        self._names, self._readiness = tuple(names), readiness

    def collect(self) -> Iterator[Metric]:
        """1 for each that answers, 0 for each that does not."""
        failing = self._readiness.failing()
        family = GaugeMetricFamily(
            "service_dependency_up",
            "1 for what answers a process, as its `/readyz` has it, 0 for what does not",
            labels=["dependency"],
        )
        for name in self._names:
            family.add_metric([name], float(name not in failing))
        yield family


@dataclass(frozen=True, slots=True)
class StateAnswer:
    """One answer about a process: its status, its media type and its body."""

    status: int
    media_type: str
    body: bytes


class ProcessState:
    """A process's answers about itself, over whichever port. ``own`` probes its public port."""

    def __init__(self, checks: Mapping[str, Check], own: Check | None = None) -> None:
        self._readiness = Readiness(checks, own)
        self._of_process = CollectorRegistry()
        self._of_process.register(BuildInfo())
        self._of_process.register(DependencyStates(checks, self._readiness))

    def readyz(self) -> StateAnswer:
        """Which dependencies do not answer."""
        failing = self._readiness.failing()
        body = json.dumps({"ready": not failing, "failing": failing}).encode()
        return StateAnswer(503 if failing else 200, "application/json", body)

    def serving(self) -> StateAnswer:
        """Whether to send work here."""
        serving = self._readiness.serving()
        return StateAnswer(200 if serving else 503, _TEXT, b"yes\n" if serving else b"no\n")

    def healthz(self) -> StateAnswer:
        """That it lives."""
        return StateAnswer(200, _TEXT, b"ok\n")

    def metrics(self) -> StateAnswer:
        """Its counts."""
        figures = generate_latest(_registry()) + generate_latest(self._of_process)
        return StateAnswer(200, "text/plain; version=0.0.4; charset=utf-8", figures)


def serve_internal_port(port: int, checks: Mapping[str, Check], own: Check | None = None) -> ThreadingHTTPServer:
    """Start answering in a thread; the caller may ``shutdown()`` it. ``own`` probes this process's public port."""
    state = ProcessState(checks, own)
    answers = {
        "/readyz": state.readyz,
        "/serving": state.serving,
        "/healthz": state.healthz,
        "/metrics": state.metrics,
    }

    class InternalHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name http.server calls
            found = answers.get(self.path)
            answer = StateAnswer(404, "application/json", b"{}") if found is None else found()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.media_type)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Probes are not worth a line."""

    host = read_internal_host(EnvironmentReader(os.environ))

    class InternalServer(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        daemon_threads = True

    server = InternalServer((host, port), InternalHandler)
    Thread(target=server.serve_forever, name="internal-port", daemon=True).start()
    return server


def _registry() -> CollectorRegistry:
    """This process's metrics, or those of all its workers where they share a directory."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry


def _silent(checks: Mapping[str, BoundedCall[object]]) -> tuple[str, ...]:
    """Names of those that do not answer in time; all are checked at once."""
    ends, asked = time.monotonic() + CHECK_SECONDS, {name: check.begin() for name, check in checks.items()}
    found = []
    for name, answer in asked.items():
        try:
            answer.result(max(0.0, ends - time.monotonic()))
        except Exception as error:  # noqa: BLE001  # any error of a dependency's library: it does not answer
            own = type(error).__module__.startswith("service_")  # a library's message may hold an address
            reason = {"reason": str(error)} if own else {}
            log.warning("dependency does not answer", dependency=name, error=type(error).__name__, **reason)
            found.append(name)
    return tuple(found)
