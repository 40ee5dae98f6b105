"""A watch reports what begins and what is over; an outage ends nothing."""

import io
import json
import re
from typing import Any

from prometheus_client import generate_latest
from service_audit.look import Auditor
from service_audit.output import Output
from service_audit.report import REQUIREMENTS, Report
from service_audit.watch import INTERVAL_SECONDS, WEEK_SECONDS, Metrics, Watch

from tests.clocks import HandClock


class Looks:
    """An auditor whose looks were made before."""

    def __init__(self, *reports: Report) -> None:
        self.reports, self.kinds = list(reports), list[str]()

    def forget(self) -> None:
        self.kinds.append("forget")

    def look_at_everything(self) -> Report:
        self.kinds.append("everything")
        return self.reports.pop(0)

    def look_at_news(self) -> Report:
        self.kinds.append("news")
        return self.reports.pop(0)


def differing(*places: str, unread: bool = False) -> Report:
    report = Report()
    for where in places:
        report.add("bounty.facts", where, 1, 2)
    if unread:
        report.add("read", "the chain", "an answer", "nothing")
    return report


def watch_of(looks: Any, clock: HandClock | None = None) -> tuple[Watch, io.StringIO]:
    printed = io.StringIO()
    auditor: Auditor = looks
    return Watch(
        auditor, Output(printed, True), Metrics(), lambda: None, (clock or HandClock()).monotonic, lambda: 7.0
    ), printed


def said(*reports: Report) -> list[str]:
    watch, printed = watch_of(Looks(*reports))
    for _ in reports:
        watch.look()
    lines = [json.loads(line) for line in printed.getvalue().splitlines()]
    assert all(line["time"] == 7 for line in lines)
    return [f"{line['event'].partition('.')[2]} {line['requirement']} {line['where']}" for line in lines]


def test_difference_is_said_at_its_begin_and_end() -> None:
    found = said(differing("a"), differing("a", "b"), differing("b"), differing())
    wanted = ["begins bounty.facts a", "begins bounty.facts b", "over bounty.facts a", "over bounty.facts b"]
    assert found == wanted


def test_difference_of_another_value_is_the_same_one() -> None:
    behind = [Report(), Report()]
    for number, each in enumerate(behind):
        each.add("liveness.index", "/api/status", f"block {number + 90} or later", 7)
    assert said(*behind, Report()) == ["begins liveness.index /api/status", "over liveness.index /api/status"]


def test_outage__ends_no_difference() -> None:
    found = said(differing("a"), differing(unread=True), differing("a"))
    assert found == ["begins bounty.facts a", "begins read the chain", "over read the chain"]


def test_unseen_place_keeps_its_difference() -> None:
    passed_over = Report()
    passed_over.pass_over("bounty.verdict", "a")
    differs = Report()
    differs.add("bounty.verdict", "a", 1, 2)
    assert said(differs, passed_over) == ["begins bounty.verdict a"]


def test_everything_is_looked_at_once_a_week() -> None:
    clock = HandClock()
    looks = Looks(*(Report() for _ in range(4)))
    watch, _ = watch_of(looks, clock)
    for seconds in (0.0, INTERVAL_SECONDS, WEEK_SECONDS - 1, WEEK_SECONDS):
        clock.time = seconds
        watch.look()
    assert looks.kinds == ["forget", "everything", "news", "news", "forget", "everything"]


def test_metrics_count_through_an_outage() -> None:
    watch, _ = watch_of(Looks(differing("a", "b"), differing(unread=True)))
    for _ in range(2):
        watch.look()
        text = generate_latest(watch.metrics.registry).decode()
        assert 'audit_differences{requirement="bounty.facts"} 2.0' in text
        assert 'audit_differences{requirement="money.split"} 0.0' in text
    assert text.count("audit_differences{") == len(REQUIREMENTS)
    assert set(re.findall(r"(?m)^(audit_\w+)", text)) == {"audit_differences", "audit_ended_timestamp_seconds"}
    assert "audit_ended_timestamp_seconds 7.0" in text
