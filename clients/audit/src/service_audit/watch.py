"""The look repeated: what begins to differ and what is over is printed, and Prometheus gets the state."""

import signal
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, start_http_server

from service_audit.look import Auditor
from service_audit.output import Output
from service_audit.report import REQUIREMENTS, Difference, Report

INTERVAL_SECONDS: Final = 300
"""Between the end of a look and the next."""
WEEK_SECONDS: Final = 604_800.0
"""After which everything is read from the beginning; each hour, a Hub a year old would cost 1.9 million calls a day."""


class Metrics:
    """What Prometheus gets: what differs by requirement, and when the last look ended."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._differences = Gauge(
            "audit_differences",
            "Differences between the deployment and its chain that are not over.",
            ["requirement"],
            registry=self.registry,
        )
        self._ended = Gauge(
            "audit_ended_timestamp_seconds", "When the last look ended, in seconds since 1970.", registry=self.registry
        )

    def serve(self, address: str, port: int) -> None:
        """Serve /metrics; raise ``OSError`` where the port cannot be had."""
        start_http_server(port, address, self.registry)

    def update(self, report: Report, still_open: Collection[Difference], now: float) -> None:
        """Take a look's result. Counted is what is still open: what could not be looked at ends no alert."""
        for name in REQUIREMENTS:
            count = sum(found.requirement == name for found in still_open)
            self._differences.labels(name).set(count + report.more[name])
        self._ended.set(now)


@dataclass(slots=True)
class Watch:
    """Looks until it is stopped."""

    auditor: Auditor
    output: Output
    metrics: Metrics
    wait: Callable[[], None]
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    _open: dict[tuple[str, str], Difference] = field(default_factory=dict)
    """What differs, by requirement and place."""
    _whole_at: float | None = None

    def run(self) -> None:
        """Look and wait, until something raises ``Stopped``."""
        while True:
            self.look()
            self.wait()

    def look(self) -> None:
        """Look at everything at first and once a week, else at what is new; report what began and what is over."""
        is_whole = self._whole_at is None or self.clock() - self._whole_at >= WEEK_SECONDS
        if is_whole:
            self.auditor.forget()
            self._whole_at = self.clock()
        report = self.auditor.look_at_everything() if is_whole else self.auditor.look_at_news()
        kept = {place: each for place, each in self._open.items() if place[0] != "read" and report.leaves_open(each)}
        now = kept | {(found.requirement, found.where): found for found in report.found}
        for place in sorted(now.keys() - self._open.keys()):
            found = now[place]
            self._say("audit.begins", found, {"expected": found.expected, "seen": found.seen})
        for place in sorted(self._open.keys() - now.keys()):
            self._say("audit.over", self._open[place], {})
        self._open = now
        self.metrics.update(report, now.values(), self.now())

    def _say(self, event: str, found: Difference, more: dict[str, str]) -> None:
        fields = {"requirement": found.requirement, "where": found.where, "time": int(self.now()), **more}
        self.output.emit(event, fields)


class Stopped(BaseException):
    """The program is to end: SIGTERM or SIGINT. No part of a look takes it for an answer that cannot be read."""


def stop_on_signals() -> None:
    """Have SIGTERM and SIGINT raise ``Stopped`` wherever the program is."""

    def stop(_number: int, _frame: object) -> None:
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_IGN)  # a second one must not end what the first one has begun
        raise Stopped

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, stop)
