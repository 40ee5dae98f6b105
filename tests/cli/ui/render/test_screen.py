"""What a screen makes of words, facts and tables: its width, and the colours it has."""

import pytest
from service_cli.ui.items import Column, Field, Row
from service_cli.ui.render.screen import Screen, cut, width, wrapped

COLUMNS = (Column("ID"), Column("STATE"), Column("UNTIL", optional=1), Column("TITLE", flexible=True))
ROWS = [
    Row(COLUMNS, ("1", "accepting", "2027-01-18 08:00", "A hinge that lasts a hundred thousand times")),
    Row(COLUMNS, ("12", "judging", "2027-01-18 08:00", "字" * 40)),
]


@pytest.mark.parametrize(
    ("text", "columns"),
    [("abc", 3), ("字", 2), ("e\u0301", 1), ("\x1b[31mred\x1b[0m", 3), ("😀", 2), ("", 0)],
)
def test_width__of_any_text__is_what_a_terminal_takes(text: str, columns: int) -> None:
    assert width(text) == columns


@pytest.mark.parametrize(
    ("text", "columns", "shown"), [("abcd", 4, "abcd"), ("abcde", 4, "abc…"), ("字字字", 4, "字…")]
)
def test_cut__to_some_columns__ends_with_a_mark(text: str, columns: int, shown: str) -> None:
    assert cut(text, columns) == shown


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_table__on_a_screen__fits_it(columns: int) -> None:
    lines = list(Screen(columns, colours=False, now=0).table(COLUMNS, ROWS))
    assert max(map(width, lines)) <= columns
    assert lines[0].startswith("ID")
    assert ("UNTIL" in lines[0]) == (columns >= 60)
    assert ("thousand times" in lines[1]) == (columns >= 80)


def test_table__in_a_file__is_whole_and_aligned() -> None:
    lines = list(Screen(None, colours=False, now=0).table(COLUMNS, ROWS))
    assert lines[1].endswith("thousand times")
    assert lines[1].index("2027") == lines[2].index("2027") == lines[0].index("UNTIL")


def test_wrapped__amounts_and_commands__are_not_broken() -> None:
    text = "a Poster pays 1,234.5 tUSDC, then service-cli claim 7 pays back"
    for columns in range(1, 70):
        shown = list(wrapped(text, columns))
        assert " ".join(shown) == text
        assert any("1,234.5 tUSDC," in line for line in shown)
        assert any("service-cli claim 7" in line for line in shown)


@pytest.mark.parametrize("columns", [1, 5, 12])
def test_table__on_a_screen_that_is_too_narrow__ends(columns: int) -> None:
    assert list(Screen(columns, colours=False, now=0).table(COLUMNS, ROWS))


def test_table__with_a_note__keeps_it_whole() -> None:
    row = Row(COLUMNS, ("1", "", "", "x" * 60), note="service-cli claim " + "7" * 60)
    assert list(Screen(30, colours=False, now=0).table(COLUMNS, [row]))[2] == f"  {row.note}"


def test_colours__where_there_are_none__leave_the_words() -> None:
    assert Screen(80, colours=False, now=0).bad("FAIL") == "FAIL"
    assert Screen(80, colours=True, now=0).bad("FAIL") == "\x1b[31mFAIL\x1b[0m"


def test_wrapped__with_a_word_longer_than_the_screen__breaks_no_word() -> None:
    address = "0x" + "ab" * 20
    assert list(wrapped(f"sent to {address} just now", 20)) == ["sent to", address, "just now"]


def test_fact__too_narrow_for_two_columns__has_its_copyable_part_below() -> None:
    shown = list(Screen(40, colours=False, now=0).lines(Field("Transaction", "0x" + "a" * 64, whole=True)))
    assert shown == [" Transaction", "   0x" + "a" * 64]
