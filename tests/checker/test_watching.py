"""A watch reports what begins and what ends, and an outage ends nothing."""

from pathlib import Path

import pytest

from tools.checker.report import REQUIREMENTS, CheckReport
from tools.checker.watching import metrics, watch, write_metrics


def with_differences(*wheres: str, unread: bool = False) -> CheckReport:
    findings = CheckReport()
    for where in wheres:
        findings.add("bounty.facts", where, 1, 2)
    if unread:
        findings.add("checked", "the chain", "an answer", "nothing")
    return findings


class Over(Exception):
    """The last check was made."""


def watched(*checks: CheckReport) -> list[str]:
    said, waiting, reported = list[str](), list(checks), list[CheckReport]()

    def wait() -> None:
        if not waiting:
            raise Over

    with pytest.raises(Over):
        watch(lambda: waiting.pop(0), reported.append, said.append, wait)
    assert len(reported) == len(checks)
    return [" ".join(line.split()[:3]).rstrip(":") for line in said]


def test_difference__is_said_once_when_it_begins_and_once_when_it_is_over() -> None:
    found = watched(with_differences("a"), with_differences("a", "b"), with_differences("b"), with_differences())
    assert found == [f"{what} bounty.facts {where}" for what, where in
                     (("begins", "a"), ("begins", "b"), ("over", "a"), ("over", "b"))]  # fmt: skip


def test_outage__ends_no_difference() -> None:
    found = watched(with_differences("a"), with_differences(unread=True), with_differences("a"))
    assert found == ["begins bounty.facts a", "begins checked the", "over checked the"]


def test_metrics__have_a_series_for_each_requirement(tmp_path: Path) -> None:
    text = metrics(with_differences("a", "b"), 1_700_000_000.4)
    assert text.count("checker_differences{") == len(REQUIREMENTS)
    assert 'checker_differences{requirement="bounty.facts"} 2\n' in text
    assert 'checker_differences{requirement="money.split"} 0\n' in text
    assert text.endswith("checker_ended_timestamp_seconds 1700000000\n")
    write_metrics(tmp_path / "checker.prom", text)
    assert [path.name for path in tmp_path.iterdir()] == ["checker.prom"]
    assert (tmp_path / "checker.prom").read_text() == text
