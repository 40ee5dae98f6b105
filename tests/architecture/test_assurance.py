"""Evidence about the Hub is of the Hub that is here."""

from pathlib import Path

import pytest

from tools.assurance import HUB_SOURCES, PAGE, TOP, shown_digests, sources_digest


@pytest.mark.parametrize("step", HUB_SOURCES)
def test_evidence_of_the_hub_is_of_its_present_sources(step: str) -> None:
    shown = shown_digests(PAGE.read_text(encoding="utf-8"))
    assert shown.get(step) == sources_digest(step), f"./noxw -s assurance -- {step} writes docs/assurance.md again"


@pytest.mark.parametrize("step", HUB_SOURCES)
def test_sources_of_a_step_are_there(step: str) -> None:
    assert [pattern for pattern in HUB_SOURCES[step] if not any(TOP.glob(pattern))] == []


def test_digest_changes_with_the_sources_and_with_nothing_else(tmp_path: Path) -> None:
    hub, part, other = (tmp_path / "contracts" / name for name in ("src/Hub.sol", "src/parts/A.sol", "README.md"))
    for file in (hub, part, other):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("one")
    before = sources_digest("hub-mutants", tmp_path)
    other.write_text("two")
    assert sources_digest("hub-mutants", tmp_path) == before
    part.write_text("two")
    changed = sources_digest("hub-mutants", tmp_path)
    assert changed != before
    part.rename(part.with_name("B.sol"))
    assert sources_digest("hub-mutants", tmp_path) not in {before, changed}


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ("| `a-b` | it | passed | 2026-01-01, 1 s, `0123`, sources `45ab` | all |", {"a-b": "45ab"}),
        ("| `a-b` | it | passed | 2026-01-01, 1 s, `0123` | all |", {"a-b": ""}),
        ("| `a-b` | it | **failed** | 2026-01-01, 1 s, `0123`, sources `45ab` | all |", {}),
        ("| `a-b` | it | not run | | |", {}),
    ],
    ids=["passed", "passed without a digest", "failed", "not run"],
)
def test_row_counts_when_it_passed(row: str, shown: dict[str, str]) -> None:
    assert shown_digests(row) == shown
