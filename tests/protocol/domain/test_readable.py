"""Text of strangers: what hides or piles up becomes visible, and titles in every language stay as they are."""

import re
import unicodedata

import pytest
from bounty_protocol.domain.challenge.invisible_characters import UNSEEN_RANGES
from bounty_protocol.domain.challenge.readable import MAX_JOINED, MAX_MARKS, MAX_SPACES, readable, readable_line
from hypothesis import given
from hypothesis import strategies as st

from tests.titles import HOSTILE, LEGITIMATE

NEVER_SHOWN = {"\u202e", "\u2066", "\u200b", "\u2060", "\ufeff", "\u3164", "\u2800", "\x1b", "\x85"}


@pytest.mark.parametrize("title", LEGITIMATE.values(), ids=LEGITIMATE)
def test_title__as_people_write_it__stays_as_it_is(title: str) -> None:
    assert readable_line(title) == readable(title) == title


def most_marks(text: str) -> int:
    """On one letter, of what a font puts above, below or into it."""
    kinds = "".join("m" if unicodedata.category(one) in {"Mn", "Me", "Mc"} else "." for one in text)
    return max(map(len, kinds.split(".")), default=0)


@pytest.mark.parametrize("title", HOSTILE.values(), ids=HOSTILE)
def test_hiding_title_is_bounded_and_visible(title: str) -> None:
    assert len(title) <= 200
    shown = readable_line(title)
    assert most_marks(shown) <= MAX_MARKS
    assert not set(shown) & NEVER_SHOWN
    assert re.search(r"\s\s", shown) is None
    assert len(shown) <= 10 * len(title)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("e" + "\u0301" * 9, "e\u0301\u0301[+7]"),
        ("e" + "\u0301\u0323" * 2, "e\u0301\u0323\u0301\u0323"),
        ("\u0e01" + "\u0e49" * 3, "\u0e01\u0e49\u0e49[+1]"),
        ("\u1780" + "\u17d2\u1780" * 9, "\u1780" + "\u17d2\u1780" * (MAX_JOINED // 2) + "[+8]"),
        ("a" + "\u3000" * MAX_SPACES + "b", "a" + "\u3000" * MAX_SPACES + "b"),
        ("a" + "\u3000" * 57 + "b", "a[U+3000 \u00d757]b"),
        ("\u200b" * 57, "[U+200B \u00d757]"),
        ("a\u200bb", "a[U+200B]b"),
        ("\u1781\u200b\u1781", "\u1781\u200b\u1781"),
        ("pay\u200dpal", "pay[U+200D]pal"),
        ("\u05d0\u200d\u05d1", "\u05d0[U+200D]\u05d1"),
        ("\u06cc\u200c\u06cc", "\u06cc\u200c\u06cc"),
        ("\u06cc\u200c", "\u06cc[U+200C]"),
        ("x\ufe0fy", "x[U+FE0F]y"),
        ("\u2764\ufe0f", "\u2764\ufe0f"),
        ("\ue000", "[U+E000]"),
        ("\ud800", "[U+D800]"),
        ("a\ufffe\uffff", "a[U+FFFE][U+FFFF]"),
        ("a\x1b[31m", "a[U+001B][31m"),
        ("one\ntwo\tthree", "one\ntwo\tthree"),
        ("\u202egpj", "[U+202E]gpj"),
    ],
)
def test_hidden_letters_are_shown_by_number(text: str, shown: str) -> None:
    assert readable(text) == shown


def test_line_has_single_spaces() -> None:
    assert readable_line("  a \n\t b\u3000\u3000c\u2003d \u00a0") == "a b c d"
    assert readable_line("\u65e5\u672c\u3000\u8a9e") == "\u65e5\u672c\u3000\u8a9e"


@given(
    st.text(
        st.sampled_from(
            [*map(chr, range(0x0E2E, 0x0E4F)), "\u200b", "\u200d", "\ufe0f", "\u17d2", "\u1780", "a", "\u3000"]
        )
    )
)
def test_readable_text_stays_as_it_is(text: str) -> None:
    shown = readable(text)
    assert readable(shown) == shown
    assert most_marks(shown) <= MAX_MARKS


def test_unseen_ranges_are_shown_everywhere() -> None:
    for first, last in UNSEEN_RANGES:
        for code in {first, last}:
            assert readable(f"a{chr(code)}b") == f"a[U+{code:04X}]b"
