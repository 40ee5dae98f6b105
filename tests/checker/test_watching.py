"""A watch reports what begins and what ends, and an outage ends nothing."""

import re
from pathlib import Path

import pytest
from service_checker.report import REQUIREMENTS, CheckReport
from service_checker.watching import SERIES, metrics, watch, write_metrics


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
        watch(
            lambda: waiting.pop(0),
            lambda report, _open: reported.append(report),
            lambda event: said.append(event.line()),
            wait,
        )
    assert len(reported) == len(checks)
    return [" ".join(line.partition(":")[0].split()) for line in said]


def test_difference__is_said_once_when_it_begins_and_once_when_it_is_over() -> None:
    found = watched(with_differences("a"), with_differences("a", "b"), with_differences("b"), with_differences())
    assert found == [f"{what} bounty.facts {where}" for what, where in
                     (("begins", "a"), ("begins", "b"), ("over", "a"), ("over", "b"))]  # fmt: skip


def test_difference__whose_value_changes__is_the_same_one() -> None:
    behind = [CheckReport(), CheckReport()]
    for number, each in enumerate(behind):
        each.add("liveness.index", "/api/status", f"block {number + 90} or later", 7)
    assert watched(*behind, CheckReport()) == ["begins liveness.index /api/status", "over liveness.index /api/status"]


def test_outage__ends_no_difference() -> None:
    found = watched(with_differences("a"), with_differences(unread=True), with_differences("a"))
    assert found == ["begins bounty.facts a", "begins checked the chain", "over checked the chain"]


def test_outage__ends_no_alert() -> None:
    checks, texts = [with_differences("a"), with_differences(unread=True)], list[str]()

    def wait() -> None:
        if not checks:
            raise Over

    with pytest.raises(Over):
        watch(
            lambda: checks.pop(0),
            lambda report, still_open: texts.append(metrics(report, still_open, 0.0)),
            lambda _: None,
            wait,
        )
    assert ['checker_differences{requirement="bounty.facts"} 1' in text for text in texts] == [True, True]


def test_outage__of_other_words_each_time__is_one_at_a_time() -> None:
    first, second = CheckReport(), CheckReport()
    first.add("checked", "the chain", "an answer", "nothing")
    second.add("checked", "the API", "an answer", "nothing")
    assert watched(first, second) == ["begins checked the chain", "begins checked the API", "over checked the chain"]


def test_place__that_a_check_passes_over__keeps_its_difference() -> None:
    passed_over = CheckReport()
    passed_over.skip("money.conservation", "balance after block 7")
    differs = CheckReport()
    for number in (7, 8):
        differs.add("money.conservation", f"balance after block {number}", 1, 2)
    assert watched(differs, passed_over, CheckReport()) == [
        "begins money.conservation balance after block 7",
        "begins money.conservation balance after block 8",
        "over money.conservation balance after block 8",
        "over money.conservation balance after block 7",
    ]


def test_metrics__have_a_series_for_each_requirement(tmp_path: Path) -> None:
    findings = with_differences("a", "b")
    text = metrics(findings, findings.found, 1_700_000_000.4)
    assert dict(re.findall(r"(?m)^(\w+)(?:{(\w+)=.*})? ", text)) == {
        name: ",".join(labels) for name, labels in SERIES.items()
    }
    assert text.count("checker_differences{") == len(REQUIREMENTS)
    assert 'checker_differences{requirement="bounty.facts"} 2\n' in text
    assert 'checker_differences{requirement="money.split"} 0\n' in text
    assert text.endswith("checker_ended_timestamp_seconds 1700000000\n")
    write_metrics(tmp_path / "checker.prom", text)
    assert [path.name for path in tmp_path.iterdir()] == ["checker.prom"]
    assert (tmp_path / "checker.prom").read_text() == text
