"""The check repeated: what begins to differ and what is over is printed, and a file for Prometheus has the state."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from tools.checker.report import REQUIREMENTS, CheckReport, FoundDifference

SERIES: Final[dict[str, tuple[str, ...]]] = {
    "checker_differences": ("requirement",),
    "checker_comparisons": (),
    "checker_ended_timestamp_seconds": (),
}
"""The metrics with their labels, as ``metrics`` writes them."""


def watch(
    check: Callable[[], CheckReport],
    report: Callable[[CheckReport], None],
    say: Callable[[str], None],
    wait: Callable[[], None],
) -> None:
    """Check until ``wait`` raises. A difference is printed when it begins and when it is over.

    What differed before and was not looked at this time counts as still differing: an outage clears nothing.
    """
    before = set[FoundDifference]()
    while True:
        findings = check()
        now = set(findings.found)
        now |= {found for found in before if found.requirement != "checked" and findings.leaves_open(found)}
        for found in sorted(now - before, key=_order):
            say(f"begins  {found.requirement}  {found.where}: expected {found.expected}, seen {found.seen}")
        for found in sorted(before - now, key=_order):
            say(f"over    {found.requirement}  {found.where}")
        before = now
        report(findings)
        wait()


def _order(found: FoundDifference) -> tuple[str, str]:
    return found.requirement, found.where


def metrics(findings: CheckReport, time: float) -> str:
    """The result as Prometheus reads it, one series for each requirement; ``time`` is now, in seconds since 1970."""
    counts = dict.fromkeys(REQUIREMENTS, 0)
    for found in findings.found:
        counts[found.requirement] += 1
    for name, count in findings.more.items():
        counts[name] += count
    lines = [
        "# HELP checker_differences Differences between the deployment and its chain in the last check.",
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
