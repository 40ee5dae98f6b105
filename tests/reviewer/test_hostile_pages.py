"""Pages written to break the rules: every one of them is judged, and in the end."""

import pytest
from bounty_protocol.domain.challenge.frontmatter import MAX_DOCUMENT_BYTES
from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.errors import MAX_ISSUES, ServiceError
from bounty_protocol.readiness.material import Material
from bounty_protocol.readiness.review import review
from bounty_protocol.types import UnixSeconds
from demo.examples import EXAMPLES
from hypothesis import given
from hypothesis import strategies as st

from tests.campaign import size

PAGE = (EXAMPLES / "bounty_challenge.md").read_bytes()
NOW = UnixSeconds(1_795_000_000)
LENGTH = size(48 * 1024, MAX_DOCUMENT_BYTES - len(PAGE))


def judge(page: bytes) -> list[str]:
    issues = review(Material(parse_challenge(page), page, NOW, 3_600))
    assert len(issues) <= MAX_ISSUES
    return [issue.path for issue in issues]


@given(st.text(max_size=400), st.text(max_size=100))
def test_page__of_any_text__is_judged_the_same_twice(body: str, criterion: str) -> None:
    page = PAGE.replace(b"`python bench.py` prints", criterion.encode("utf-8", "ignore") + b" prints")
    page += body.encode("utf-8", "ignore")
    try:
        assert judge(page) == judge(page)
    except ServiceError as refusal:
        assert refusal.code == "invalid_bounty_challenge"


@pytest.mark.parametrize(
    ("unit", "count"), [("Case {} is TBD.\n\n", MAX_ISSUES), ("The deadline is 1 March 2029, {}.\n\n", 0)]
)
def test_issues_of_a_page_are_bounded(unit: str, count: int) -> None:
    """Of a page whose deadline no calendar has, too."""
    page = PAGE.replace(b"1893456000", b"9" * 18) + "".join(unit.format(n) for n in range(40, 100)).encode()
    assert judge(page).count("body") == count


@pytest.mark.parametrize("unit", ["#\n", "a|b\n-|-\n", "|a", "- a\n", "x.\n\n"], ids=repr)
def test_page_of_too_many_parts_is_not_ready(unit: str) -> None:
    page = PAGE + (unit * 45_000)[: MAX_DOCUMENT_BYTES - len(PAGE)].encode()
    found = review(Material(parse_challenge(page), page, NOW, 3_600))
    assert ["more than 10,000 paragraphs" in issue.message for issue in found] == [True]
