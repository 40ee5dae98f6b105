"""The rules against labelled pages: what they refuse deserved it, and what deserved it they refuse."""

import pytest
from bounty_protocol.errors import MAX_ISSUES, Issue
from bounty_protocol.readiness.material import Material
from bounty_protocol.readiness.review import review

from tests.reviewer.labelled import CORPUS, WRITTEN_AT, Score, labelled_pages, score


@pytest.fixture(scope="module")
def found() -> Score:
    return score(lambda material: review(material).issues)


def test_rules__on_the_labelled_pages__are_right_nine_times_in_ten_both_ways(found: Score) -> None:
    print(f"{found.pages} pages: precision {found.precision:.3f}, recall {found.recall:.3f}")
    assert found.pages >= 60
    assert found.precision >= 0.9, found.wrongly_refused
    assert found.recall >= 0.9, found.wrongly_accepted


def test_rules__on_a_refused_page__point_at_what_is_wrong(found: Score) -> None:
    assert found.named / found.defects >= 0.9


def test_score__of_a_judge_that_refuses_or_accepts_all__is_not_enough() -> None:
    strict = score(lambda _: [Issue("body", "No.")])
    assert (strict.precision < 0.9, strict.recall) == (True, 1.0)
    assert score(lambda material: [] if len(material.content) % 2 else [Issue("body", "No.")]).recall < 0.9


def test_issues__of_every_labelled_page__say_where_and_what_to_change() -> None:
    for page in labelled_pages():
        for issue in review(page.material).issues:
            assert issue.message.endswith("."), page.name
            assert len(issue.message.split()) >= 8, page.name
            if issue.path == "body" and "fewer than" not in issue.message:
                assert issue.message.startswith("Line "), page.name


def test_issues__of_a_page_with_thousands_of_faults__are_bounded() -> None:
    page = next(page for page in labelled_pages() if page.name == "tiny-page").material
    words = page.content + b"\n\n".join(b"TODO: part %d is to be decided." % n for n in range(5_000))
    from bounty_protocol.domain.challenge import parse_challenge

    issues = review(Material(parse_challenge(words), words, WRITTEN_AT)).issues
    assert len(issues) == MAX_ISSUES


def test_line__named_in_an_issue__is_the_line_of_the_page() -> None:
    page = next(page for page in labelled_pages() if page.name == "amount-mismatch").material
    (issue,) = review(page).issues
    number = int(issue.message.removeprefix("Line ").split(":")[0])
    assert "800 USDC" in page.content.decode().split("\n")[number - 1]


def test_labels__of_the_corpus__name_pages_that_exist() -> None:
    import json

    labels = json.loads((CORPUS / "labels.json").read_text())
    names = {page.name for page in labelled_pages()}
    assert set(labels["defects"]) <= names
    assert {name for round_ in labels["unseen"].values() for name in round_} <= names
