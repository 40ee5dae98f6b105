"""The expressions of the rules: what they match, and that nothing a page holds makes them slow."""

import importlib
import pkgutil
from collections.abc import Iterator

import pytest
from bounty_protocol import readiness
from bounty_protocol.readiness.patterns import Pattern, as_read, each_of


def every_pattern() -> Iterator[tuple[str, Pattern]]:
    for module in pkgutil.iter_modules(readiness.__path__):
        waiting = list(vars(importlib.import_module(f"{readiness.__name__}.{module.name}")).values())
        while waiting:
            value = waiting.pop()
            if isinstance(value, Pattern):
                yield module.name, value
            elif isinstance(value, tuple):
                waiting += value


def words(pattern: Pattern, text: str) -> list[str]:
    return [found.words for found in pattern.each(text)]


def test_rules__hold_their_expressions_as_patterns() -> None:
    assert len(list(every_pattern())) >= 60


def test_unbounded_repetition_is_refused() -> None:
    for expression in ("a*", "ab+", "(?:ab){2,}", r"\[x\]+"):
        with pytest.raises(ValueError, match="only for search"):
            next(Pattern(expression).each("a"), None)
    for expression in (r"a\*", "[*+]", "a{2,3}", r"\+?"):
        assert list(Pattern(expression).each("b+")) is not None


def test_neighbours_can_undo_a_match() -> None:
    pattern = Pattern("todo", not_after='"', not_before=" list")
    assert words(pattern, 'TODO "todo todo list todo') == ["TODO", "todo"]
    assert pattern.search('"todo') is None


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("plain", "plain"),
        ("\uff34\uff2f\uff24\uff2f \u0663", "TODO 3"),
        ("gr\u00f6\u00dfer", "gr__er"),
        ("a\u00a0b\u2003c", "a b c"),
        ("\u20ac5 \u201cx\u201d \u2265", "\u20ac5 \u201cx\u201d \u2265"),
    ],
)
def test_text_is_compared_as_read_at_its_offsets(text: str, read: str) -> None:
    assert as_read(text) == read
    assert len(as_read(text)) == len(text)


def test_match__in_other_letters__is_told_as_written() -> None:
    (found,) = Pattern(r"\btodo\b").each("gr\u00f6\u00dfer \uff34\uff2f\uff24\uff2f, autodo\u00df todo\u00e9")
    assert (found.words, found.start) == ("\uff34\uff2f\uff24\uff2f", 7)


def test_several_patterns_do_not_overlap() -> None:
    found = each_of((Pattern("todo"), Pattern("<[^>]{0,9}>")), "todo <a todo> todo")
    assert [one.words for one in found] == ["todo", "<a todo>", "todo"]
