"""The check repeated: what begins to differ and what is over is printed, and Prometheus gets the state."""

import json
import signal
import socketserver
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from service_checker.report import REQUIREMENTS, CheckReport, FoundDifference

SERIES: Final[dict[str, tuple[str, ...]]] = {
    "checker_differences": ("requirement",),
    "checker_comparisons": (),
    "checker_ended_timestamp_seconds": (),
}
"""The metrics with their labels, as ``metrics`` writes them."""


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """A difference that ``begins`` or is ``over``; it is the same one as long as requirement and place are."""

    event: str
    found: FoundDifference

    def line(self) -> str:
        """For people."""
        found = self.found
        if self.event == "over":
            return f"over    {found.requirement}  {found.where}"
        return f"begins  {found.requirement}  {found.where}: expected {found.expected}, seen {found.seen}"

    def as_json(self, time: float) -> str:
        """For programs; ``time`` is now, in seconds since 1970."""
        return json.dumps({"event": self.event, "time": int(time), **asdict(self.found)})


def watch(
    check: Callable[[], CheckReport],
    report: Callable[[CheckReport, Collection[FoundDifference]], None],
    say: Callable[[WatchEvent], None],
    wait: Callable[[], None],
) -> None:
    """Check until something raises ``Stopped``. A difference is reported when it begins and when it is over.

    What differed before and was not looked at this time counts as still differing: an outage clears nothing.
    """
    before = dict[tuple[str, str], FoundDifference]()
    while True:
        findings = check()
        now = {place: found for place, found in before.items() if place[0] != "checked" and findings.leaves_open(found)}
        now |= {(found.requirement, found.where): found for found in findings.found}
        for place in sorted(now.keys() - before.keys()):
            say(WatchEvent("begins", now[place]))
        for place in sorted(before.keys() - now.keys()):
            say(WatchEvent("over", before[place]))
        before = now
        report(findings, now.values())
        wait()


class Stopped(BaseException):
    """The watch is to end: SIGTERM or SIGINT. No part of a check takes it for an answer that cannot be read."""


def stop_on_signals() -> None:
    """Have SIGTERM and SIGINT raise ``Stopped`` wherever the program is."""

    def stop(_number: int, _frame: object) -> None:
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_IGN)  # a second one must not end what the first one has begun
        raise Stopped

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, stop)


def metrics(findings: CheckReport, still_open: Collection[FoundDifference], time: float) -> str:
    """The result as Prometheus reads it, one series for each requirement; ``time`` is now, in seconds since 1970.

    Counted is what is still open: a difference that could not be looked at ends no alert.
    """
    counts = dict.fromkeys(REQUIREMENTS, 0)
    for found in still_open:
        counts[found.requirement] += 1
    for name, count in findings.more.items():
        counts[name] += count
    lines = [
        "# HELP checker_differences Differences between the deployment and its chain that are not over.",
        "# TYPE checker_differences gauge",
        *(f'checker_differences{{requirement="{name}"}} {count}' for name, count in sorted(counts.items())),
        "# HELP checker_comparisons Values that the last check compared.",
        "# TYPE checker_comparisons gauge",
        f"checker_comparisons {sum(findings.compared.values())}",
        "# HELP checker_ended_timestamp_seconds When the last check ended.",
        "# TYPE checker_ended_timestamp_seconds gauge",
        f"checker_ended_timestamp_seconds {time:.0f}",
    ]
    return "\n".join(lines) + "\n"


def write_metrics(path: Path, text: str) -> None:
    """Replace the file at once, so that a reader never sees half of it."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text)
    beside.replace(path)


SCRAPE_SECONDS: Final = 5.0
"""For one scrape, its request and its answer."""
MAX_REQUEST: Final = 8_192


class MetricsServer(socketserver.TCPServer):
    """The last result by HTTP, for Prometheus: one connection at a time, each of a bounded time and length."""

    allow_reuse_address = True
    text = ""
    """Nothing, and 503, before the first check has ended."""

    def __init__(self, host: str, port: int) -> None:
        """Raises ``OSError`` where the port cannot be had; 0 takes a free one."""
        super().__init__((host, port), _Scrape)
        threading.Thread(target=self.serve_forever, name="metrics", daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        """A scrape that failed is the business of who scrapes."""


class _Scrape(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        ends, asked = time.monotonic() + SCRAPE_SECONDS, b""
        while b"\r\n\r\n" not in asked and len(asked) < MAX_REQUEST:
            self.request.settimeout(max(ends - time.monotonic(), 0.001))
            part = self.request.recv(MAX_REQUEST)
            if not part:
                return
            asked += part
        server = self.server
        text = server.text if isinstance(server, MetricsServer) else ""
        if asked.split(b" ")[:2] != [b"GET", b"/metrics"]:
            status, text = "404 Not Found", "The metrics are at /metrics.\n"
        else:
            status = "200 OK" if text else "503 Service Unavailable"
        body = text.encode()
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {len(body)}\r\n"
        self.request.settimeout(max(ends - time.monotonic(), 0.001))
        with suppress(OSError):
            self.request.sendall(head.encode() + b"Connection: close\r\n\r\n" + body)
