"""Every fault that was written down is planted, or says why it is not."""

import tomllib
from pathlib import Path

from service_checker.report import REQUIREMENTS

from tests.checker.planted import PLANTED
from tests.checker.unread import MISSED_AT_FIRST, NOT_PLANTED, PLANTED_UNREAD

WRITTEN = tomllib.loads((Path(__file__).parent / "unread_faults.toml").read_text(encoding="utf-8"))


def test_faults__written_before_the_checker_was_read__are_planted_or_say_why_not() -> None:
    assert sorted([*PLANTED_UNREAD, *NOT_PLANTED]) == sorted(WRITTEN)
    assert all(each.keys() == {"where", "shows", "breaks"} for each in WRITTEN.values())


def test_table__of_planted_faults__has_the_figures_of_the_code() -> None:
    page = (Path(__file__).parents[2] / "docs/checker.md").read_text(encoding="utf-8")
    found = len(PLANTED_UNREAD) - len(MISSED_AT_FIRST)
    assert set(PLANTED_UNREAD) >= MISSED_AT_FIRST
    assert f"| {len(PLANTED)} | {len(PLANTED)} | 0 |" in page
    assert f"| {len(PLANTED_UNREAD)} | {found} | {len(NOT_PLANTED)} |" in page


def test_faults__name_requirements_that_exist() -> None:
    planted = [*PLANTED.values(), *PLANTED_UNREAD.values()]
    assert {requirement for requirement, _ in planted} <= set(REQUIREMENTS)
    assert len(planted) > 100
