"""The check repeated: what begins to differ and what is over is printed, and Prometheus gets the state."""

import json
import signal
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from service_checker.report import REQUIREMENTS, CheckReport, FoundDifference, named, unread_lines

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

    def as_json(self, time: float) -> str:
        """For programs; ``time`` is now, in seconds since 1970."""
        return json.dumps({"event": self.event, "time": int(time), **asdict(self.found)})


def lines_of(events: Collection[WatchEvent]) -> Iterator[str]:
    """The events of one check for people: of what could not be read a line for each cause, as in a report."""
    begins = [each.found for each in events if each.event == "begins"]
    over = [each.found for each in events if each.event == "over"]
    for found in begins:
        if found.requirement != "checked":
            yield f"begins  {found.requirement}  {found.where}: expected {found.expected}, seen {found.seen}"
    for line in unread_lines(begins):
        yield f"begins  checked  {line}"
    for found in over:
        if found.requirement != "checked":
            yield f"over    {found.requirement}  {found.where}"
    if places := [found.where for found in over if found.requirement == "checked"]:
        yield f"over    checked  {named(places)}"


def watch(
    check: Callable[[], CheckReport],
    report: Callable[[CheckReport, Collection[FoundDifference]], None],
    say: Callable[[Collection[WatchEvent]], None],
    wait: Callable[[], None],
) -> None:
    """Check until something raises ``Stopped``. ``say`` gets the differences that begin and are over in each check.

    What differed before and was not looked at this time counts as still differing: an outage clears nothing.
    """
    before = dict[tuple[str, str], FoundDifference]()
    while True:
        findings = check()
        now = {place: found for place, found in before.items() if place[0] != "checked" and findings.leaves_open(found)}
        now |= {(found.requirement, found.where): found for found in findings.found}
        say(
            [WatchEvent("begins", now[place]) for place in sorted(now.keys() - before.keys())]
            + [WatchEvent("over", before[place]) for place in sorted(before.keys() - now.keys())]
        )
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
