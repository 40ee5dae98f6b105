"""How the words of the documents are counted."""

from pathlib import Path

import pytest

from tools.words import counts, words_by_hand


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Two words.\n", 2),
        ("| a | 7 |\n|---|---|\n- b\n", 3),
        ("one\n<!-- generated: x -->\n\nnot these\n\n<!-- end -->\ntwo\n", 2),
        ("<!-- generated: x -->\na\n<!-- end -->\nb\n<!-- generated: y-z -->\nc\n<!-- end -->\n", 1),
        ("the marks `<!-- generated: x -->` and\n`<!-- end -->` in a sentence\n", 9),
    ],
)
def test_words__by_hand__are_those_outside_of_generated_parts(text: str, words: int) -> None:
    assert words_by_hand(text) == words


def test_words__of_a_part_that_does_not_end__are_counted() -> None:
    assert words_by_hand("<!-- generated: x -->\na b\n") == 4


def test_pages__made_by_sessions_and_decisions__are_not_counted(tmp_path: Path) -> None:
    for name in (
        "README.md",
        "CONTRIBUTING.md",
        "docs/a.md",
        "docs/guides/b.md",
        "docs/adr/1.md",
        "docs/reference/c.md",
        "docs/benchmarks.md",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("word\n" * (2 if name == "docs/a.md" else 1))
    assert counts(tmp_path) == {"docs/a.md": 2, "README.md": 1, "CONTRIBUTING.md": 1, "docs/guides/b.md": 1}
    assert next(iter(counts(tmp_path))) == "docs/a.md"
