"""The screens of the tour, at every width."""

import re
from pathlib import Path

import pytest

from tests.cli import tour

PAGE = (Path(__file__).parents[2] / "docs/tour.md").read_text(encoding="utf-8")


def test_tour__has_every_command_of_its_page() -> None:
    typed = {line.split()[1] for line in re.findall(r"^service-cli .*$", PAGE, re.MULTILINE)}
    assert typed <= {each.line.split()[1] for each in tour.TOUR}


@pytest.mark.parametrize("columns", [40, 200])
def test_screens__of_any_width__state_the_same(columns: int) -> None:
    for typed in tour.TOUR:
        if typed.line != "service-cli bounty:list":  # its columns may be left away
            assert words(tour.screen_of(typed, columns)) == words(tour.screen_of(typed, None))


def words(text: str) -> list[str]:
    """Without the bars of a stranger's document, which begin every line."""
    return [word for word in text.split() if word != "|"]


def test_screens__in_colours__state_the_same_without_them() -> None:
    for typed in tour.TOUR:
        assert re.sub("\x1b\\[[0-9]*m", "", tour.screen_of(typed, colours=True)) == tour.screen_of(typed)
