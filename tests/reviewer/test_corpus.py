"""The rules against labelled pages: what they refuse deserved it, and what deserved it they refuse."""

import pytest
from bounty_protocol.readiness.review import review

from tests.reviewer.labelled import Score, labelled_pages, score


@pytest.fixture(scope="module")
def found() -> Score:
    return score(review)


def test_rules_are_right_nine_times_in_ten(found: Score) -> None:
    print(f"{found.pages} pages: precision {found.precision:.3f}, recall {found.recall:.3f}")
    assert found.pages >= 60
    assert found.precision >= 0.9, found.wrongly_refused
    assert found.recall >= 0.9, found.wrongly_accepted


def test_rules_point_at_what_is_wrong(found: Score) -> None:
    assert found.named / found.defects >= 0.9


def test_issues_say_where_and_what_to_change() -> None:
    for page in labelled_pages():
        for issue in review(page.material):
            assert issue.message.endswith("."), page.name
            assert len(issue.message.split()) >= 8, page.name
            if issue.path == "body" and "fewer than" not in issue.message:
                assert issue.message.startswith("Line "), page.name
