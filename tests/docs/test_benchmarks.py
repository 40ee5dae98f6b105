"""``docs/benchmarks.md``: a run of one group keeps what the page has of the others; what became worse is explained."""

import json
from pathlib import Path

import pytest

from bench import record
from bench.__main__ import GROUPS, HERE
from bench.comparison import Compared, Lines, compared
from bench.figures import Figure

PAGE = "# Benchmarks\n\n## auth\n\n2026-01-02, `00`, 0.1 processes.\n\n| `auth.verify` | 1 |\n\n## hub\n\nOld.\n"


def test_page__after_a_run_of_one_group__keeps_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text(PAGE)
    monkeypatch.setattr(record, "PAGE", page)
    monkeypatch.setattr(record, "KEPT", tmp_path / "kept")
    record.keep("hub", [Figure("hub.gas", 7.0, "gas", "<= 8", True)])
    record.write_page(["auth", "hub", "web"])
    kept = record.sections(page.read_text())
    assert kept["auth"] == record.sections(PAGE)["auth"]
    assert "| `hub.gas` | 7.0 gas |" in kept["hub"]
    assert "Old." not in kept["hub"]
    assert kept["web"].split() == ["##", "web", "Not", "measured", "yet."]
    assert json.loads((tmp_path / "kept" / "hub.json").read_text())["figures"][0]["value"] == 7.0


def test_groups__that_can_be_chosen__can_be_run() -> None:
    assert {"auth", "large"} <= set(GROUPS)
    assert [
        each for each in GROUPS if "\ndef run(report: Report) -> None:" not in (HERE / f"{each}.py").read_text()
    ] == []


def lines(*figures: Figure) -> Lines:
    return [json.loads(figure.line()) for figure in figures]


def test_releases__are_compared_by_ratios_to_one_reference_or_by_values_towards_the_goal() -> None:
    def run(requests: float, reference: float, seconds: float, size: float) -> Lines:
        return lines(
            Figure("a.rate", requests, "requests/s", "ratio >= 0.7", True, "hello", reference),
            Figure("a.time", seconds, "s", "<= 2", True),
            Figure("a.size", size, "MB", "informative", None),
        )

    former = [run(100, 100, 1.0, 1), run(50, 50, 1.2, 1), run(300, 300, 1.1, 1)]
    present = [run(80, 100, 1.3, 9), run(400, 500, 1.2, 9), run(8, 10, 9.0, 9)]
    assert [(each.id, round(each.change, 2), each.worse) for each in compared(former, present)] == [
        ("a.rate", -0.2, True),
        ("a.time", 0.18, True),
        ("a.size", 8.0, False),
    ]
    assert [each.worse for each in compared(present, former)] == [False, False, False]
    assert list(compared([lines(Figure("b.other", 1, "s", "<= 2", True))], present)) == []


def test_page__of_two_releases__keeps_the_comparison_when_either_is_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text(PAGE)
    monkeypatch.setattr(record, "PAGE", page)
    monkeypatch.setattr(record, "KEPT", tmp_path / "kept")
    record.keep("hub", [Figure("hub.gas", 7.0, "gas", "<= 8", True)])
    record.keep_compared("hub", [Compared("hub.gas", "gas", 6.0, 7.0, 1 / 6, worse=True)])
    record.write_page(["auth", "hub"])
    once = page.read_text()
    assert "| `hub.gas` | 6 gas | 7 gas | +17% | **worse** |" in once
    assert record.worse_figures(once) == ["hub.gas"]
    for name in ("hub.former.json", "hub.json"):
        (tmp_path / "kept" / name).unlink()
        record.write_page(["auth", "hub"])
        assert page.read_text() == once


def test_figures__that_became_worse__have_their_cause_in_the_changelog() -> None:
    unexplained = [
        name
        for name in record.worse_figures(record.PAGE.read_text(encoding="utf-8"))
        if f"`{name}`" not in (record.TOP / "CHANGELOG.md").read_text(encoding="utf-8")
    ]
    assert unexplained == []
