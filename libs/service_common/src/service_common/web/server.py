"""Running a WSGI app in production form: a main process that starts granian, and one worker that answers everything.

HTTP/1 only: a proxy is in front of every process, and granian (2.8.7) never returns from reading the body of an HTTP/2
request whose connection is gone, with a core at full load. SIGTERM drains: accepted requests are answered before the
process ends. The app is named, not passed: the worker process makes its own. There is one: each worker would have a
socket of its own, and one that is stopped would keep every second request while probes reach the other.

The worker is spawned, on every Python: a fork would copy locks that another thread holds at that moment. It has the
internal port, too, so that probes and scrapers are told by the process that serves. A worker that hangs, or does not
begin to serve, for minutes ends the process: whatever started it starts it again, also where nothing but an exit is
acted on.
"""

import multiprocessing
import os
import signal
import socket
import sys
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
"""Looks in a row at which the app does not answer what it always answers, also under load: five minutes of a hang. An
app takes seconds to load."""
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


def serve(target: str, *, host: str, port: int, internal_port: int) -> None:
    """Serve ``package.module:application``, whose module calls ``serve_probes``, until SIGTERM or SIGINT."""
    for each in (port, internal_port):
        _require_free(host, each)
    multiprocessing.set_start_method("spawn")
    Thread(target=end_once_hung, args=(lambda: _check_public_port(host, port),), daemon=True, name="watching").start()
    log.info("started", port=port)
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


def serve_probes(*, host: str, port: int, internal_port: int, checks: Mapping[str, Check]) -> None:
    """Answer probes and scrapers from this process, the worker, which answers requests at ``port``."""
    serve_internal_port(internal_port, checks, lambda: _check_public_port(host, port))


def end_once_hung(check: Check, end: Callable[[], None] = _end_process, pause: float = LOOK_SECONDS) -> None:
    """Keep polling; return after ``end``, once a check fails ``HUNG_AFTER_LOOKS`` times in a row."""
    waiting, failed = Event(), 0
    while failed < HUNG_AFTER_LOOKS:
        waiting.wait(pause)
        try:
            check()
        except Exception:  # noqa: BLE001  # whatever it is, the app did not answer
            failed += 1
        else:
            failed = 0
    log.error("the worker hangs; the process exits so that it is restarted", seconds=round(failed * pause))
    end()


def _require_free(host: str, port: int) -> None:
    """End the process with one line if another one listens at the port: the worker would start again and again."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except OSError as error:
            sys.exit(f"cannot listen at port {port} of {host}: {error.strerror}")


def _check_public_port(host: str, port: int) -> None:
    """Return if the app itself answers: a process whose workers are still loading is not ready."""
    named = f"[{host}]" if ":" in host else host
    answer = urllib3.request("GET", f"http://{named}:{port}/healthz", timeout=2.0, retries=False)
    if answer.status != 200:
        raise OSError("the public port does not answer")
