"""Running a WSGI app in production form: granian in front, the internal port beside it.

HTTP/1 only: a proxy is in front of every process, and granian (2.8.7) never returns from reading the body of an HTTP/2
request whose connection is gone, with a core at full load. SIGTERM drains: accepted requests are answered before the
process ends. The app is named, not passed: the worker process makes its own. There is one: each worker would have a
socket of its own, and one that is stopped would keep every second request while probes reach the other. What it counts
is shown by the internal port, which the main process has. A worker that hangs for minutes ends the process: whatever
started it starts it again, also where nothing but an exit is acted on.
"""

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from threading import Event, Thread
from typing import Final

import urllib3
from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings

from service_common.internal_port import Check, serve_internal_port
from service_common.log import get_logger
from service_common.places import MAX_IN_FLIGHT, MAX_WAITING
from service_common.web.callers import MAX_KEPT

BLOCKING_THREADS: Final = MAX_IN_FLIGHT + MAX_WAITING + MAX_KEPT + 80
"""Enough for all that the edge lets in or lets wait, and for refusing what is too much. Each is made when it is needed,
and takes 66 KB while it waits."""
MAX_CONNECTIONS: Final = 4096
"""Connections, idle ones included, that a worker holds: the server counts them, not requests, so a limit near the
threads would let idle clients lock out everyone. Requests are limited by ``edge.Edge``."""
LOOK_SECONDS: Final = 10.0
HUNG_AFTER_LOOKS: Final = 30
"""Looks in a row at which the app does not answer what it always answers, also under load: five minutes of a hang."""
IDLE_SECONDS: Final = 120.0
"""How long a connection stays open without a request, and a request's header may take. Longer than the proxies before
it keep one, 90 seconds at most: else one of them sends a request over a connection that ends in this moment, answers
502 itself, and cannot send a POST again."""
CONNECTION_BUFFER_BYTES: Final = 64 * 1024
"""Bytes that the server reads ahead of each connection, at least a whole header; it would be 400 KiB."""

log = get_logger(__name__)


def _end_process() -> None:
    """End as a supervisor would: give the worker half a minute, then kill it."""
    os.kill(os.getpid(), signal.SIGTERM)


def serve(target: str, *, host: str, port: int, internal_port: int, checks: Mapping[str, Check]) -> None:
    """Serve ``package.module:application`` until SIGTERM or SIGINT."""
    _share_metrics()
    serve_internal_port(internal_port, checks, lambda: _check_public_port(host, port))
    Thread(target=end_once_hung, args=(lambda: _check_public_port(host, port),), daemon=True, name="watching").start()
    log.info("started", port=port)
    os.register_at_fork(after_in_child=_end_on_sigterm)
    Granian(
        target,
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        http=HTTPModes.http1,
        workers=1,
        blocking_threads=BLOCKING_THREADS,
        backpressure=MAX_CONNECTIONS,
        http1_settings=HTTP1Settings(
            max_buffer_size=CONNECTION_BUFFER_BYTES, header_read_timeout=round(IDLE_SECONDS * 1000)
        ),
        workers_kill_timeout=30,
        respawn_failed_workers=True,
        log_access=False,
        log_enabled=False,
    ).serve()
    log.info("stopped")


def end_once_hung(check: Check, end: Callable[[], None] = _end_process, pause: float = LOOK_SECONDS) -> None:
    """Keep polling; return after ``end``, once a check that had passed fails ``HUNG_AFTER_LOOKS`` times in a row."""
    waiting, has_served, failed = Event(), False, 0
    while failed < HUNG_AFTER_LOOKS:
        waiting.wait(pause)
        try:
            check()
        except Exception:  # noqa: BLE001  # whatever it is, the app did not answer
            failed += has_served
        else:
            has_served, failed = True, 0
    log.error("the worker hangs; the process exits so that it is restarted", seconds=round(failed * pause))
    end()


def _end_on_sigterm() -> None:
    """Exit on SIGTERM in a worker that is still loading the app, instead of continuing like the parent. It drains once
    it serves.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _share_metrics() -> None:
    """Restart with a folder for the workers' metrics, if none is set: the library reads it only when it loads."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="metrics-")
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606  # this very command


def _check_public_port(host: str, port: int) -> None:
    """Return if the app itself answers: a process whose workers are still loading is not ready."""
    named = f"[{host}]" if ":" in host else host
    answer = urllib3.request("GET", f"http://{named}:{port}/healthz", timeout=2.0, retries=False)
    if answer.status != 200:
        raise OSError("the public port does not answer")
