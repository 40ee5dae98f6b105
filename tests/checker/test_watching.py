"""A watch reports what begins and what ends, and an outage ends nothing."""

import json
import re
from pathlib import Path

import pytest
import yaml
from service_checker.__main__ import INTERVAL_SECONDS, parsed
from service_checker.report import MAX_CAUSES, MAX_FOUND, REQUIREMENTS, CheckReport
from service_checker.run import MAX_CHECK_SECONDS, CheckOptions
from service_checker.watching import SERIES, lines_of, metrics, watch, write_metrics


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
            lambda events: said.extend(lines_of(events)),
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


def not_asked(count: int, cause: str) -> CheckReport:
    findings = CheckReport()
    for number in range(count):
        findings.add("checked", f"/api/bounties/{number}", "an answer", cause)
    return findings


def test_outage__of_many_parts__is_one_line_for_each_cause() -> None:
    away = not_asked(60, "not asked")
    away.add("checked", "/api/status", "an answer", "did not answer")
    away.add("bounty.facts", "a", 1, 2)
    parts = "60 parts: /api/bounties/0, /api/bounties/1, /api/bounties/2, and 57 more"
    assert list(away.lines()) == [
        "bounty.facts  a: expected 1, seen 2",
        f"checked  {parts}: expected an answer, seen not asked",
        "checked  /api/status: expected an answer, seen did not answer",
        "1 differences in 0 comparisons of 0 requirements; 61 parts could not be read",
    ]
    assert len(json.loads(away.as_json())["differences"]) == 62
    lines = watched(away, with_differences("a"))
    assert [line.split()[:3] for line in lines] == [
        ["begins", "bounty.facts", "a"], ["begins", "checked", "60"], ["begins", "checked", "/api/status"],
        ["over", "checked", "61"],
    ]  # fmt: skip


@pytest.mark.attack
def test_outage__of_another_cause_for_each_part__is_a_bounded_number_of_lines() -> None:
    findings = CheckReport()
    for number in range(3 * MAX_FOUND):
        findings.add("checked", f"/api/bounties/{number}", "an answer", f"it answers {number}")
    assert len(list(findings.lines())) == MAX_CAUSES + 3
    assert f"checked  {MAX_FOUND - MAX_CAUSES} further parts" in "\n".join(findings.lines())
    assert list(findings.lines())[-1].endswith(f"; {3 * MAX_FOUND} parts could not be read")


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


def rules() -> dict[str, str]:
    """The expressions of the alerts that docs/watchtower.md gives to whoever runs a watch."""
    page = (Path(__file__).parents[2] / "docs/watchtower.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"(?s)```yaml\n(groups:.*?)```", page)
    (group,) = yaml.safe_load(text)["groups"]
    return {rule["alert"]: rule["expr"] for rule in group["rules"]}


def test_alerts__of_the_page__see_a_watch_that_stops() -> None:
    found = rules()
    used = set(re.findall(r"checker_\w+", " ".join(found.values())))
    assert used <= set(SERIES)
    assert found["WatchtowerAbsent"] == "absent(checker_ended_timestamp_seconds)"
    silent = int(found["WatchtowerSilent"].rpartition(">")[2])
    assert silent > MAX_CHECK_SECONDS + INTERVAL_SECONDS, "a check that takes its whole time is not silent"


def test_limit__of_a_check__is_the_same_for_the_command_and_its_callers() -> None:
    words = ["--rpc", "http://node", "--hub", "0x" + "ab" * 20]
    asked, _ = parsed(words, "service-audit --watch", {})
    assert asked.max_seconds == CheckOptions("http://node", asked.hub).max_seconds
