"""Titles that imitate are marked; titles in a language are not."""

import pytest
from service_api.pages.lookalikes import may_mislead

from tests.titles import IMITATING, LEGITIMATE


@pytest.mark.attack
@pytest.mark.parametrize("title", IMITATING.values(), ids=IMITATING)
def test_title__that_imitates__is_marked(title: str) -> None:
    assert may_mislead(title)
    assert may_mislead(f"Bounty: {title}, at once")


@pytest.mark.parametrize("title", LEGITIMATE.values(), ids=LEGITIMATE)
def test_title__in_any_language__is_not_marked(title: str) -> None:
    assert not may_mislead(title)


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("", False),
        ("Plain, with 12 % more!", False),
        ("Привет, world", False),
        ("東京 Tower", False),
        ("naïve café", False),
        ("\u03b1-helix and \u0394t", False),
        ("\u03bcm", False),
        ("№ 5, Ⅳ, ™, 1ˢᵗ, ﬁne", False),
        ("\u211d and \U0001d45b", False),
        ("\u043e\u0441\u0430", True),
        ("\u043e\u0441\u0430 \u0436\u0438\u0432\u0430", False),
    ],
)
def test_text__beside_those__is_marked_for_what_it_imitates_alone(text: str, marked: bool) -> None:
    assert may_mislead(text) is marked
