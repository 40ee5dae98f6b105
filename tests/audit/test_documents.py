"""Pages and written Verdicts: what an API does not show is no difference, and is counted."""

import pytest
from service_audit.answers import AnswerCheck, Position, PublicApi
from service_audit.bounty import MAX_FRONTMATTER, check_challenge, check_verdicts, frontmatter
from service_audit.chain import Chain
from service_audit.http import HttpReply, Requests
from service_audit.node import Node
from service_audit.report import Report

from tests.audit.logs import HUB, REPORT, Written

BOUNTY = Written().deployed().created().submitted().judged(0).replay().bounties[1]


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x]\nb: &b [*a, *a]\ntitle: [*b, *b]\n",
        "title: [\n",
        "title: !!python/name:os.system\n<<: [",
        "[" * 5_000,
        "a: " + "b" * MAX_FRONTMATTER,
        "- a\n",
    ],
    ids=["aliases", "open", "tag", "deep", "long", "list"],
)
def test_frontmatter__that_is_hostile__is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="frontmatter"):
        frontmatter(f"---\n{text}---\n")


def reading(status: int) -> AnswerCheck:
    """A deployment that answers everything so."""
    requests = Requests(lambda *_: HttpReply(status, {}, b"{}"), sleep=lambda _: None)
    api = PublicApi("http://api", requests)
    return AnswerCheck(api, None, Chain(Node("http://node", requests), HUB), Report(), Position(), 30)


@pytest.mark.parametrize("status", [404, 451])
def test_verdict__that_is_not_there__is_counted(status: int) -> None:
    asked = reading(status)
    check_verdicts(asked, BOUNTY)
    assert (asked.report.exit_code(), asked.report.passed_over) == (
        0,
        {"bounty.verdict": {f"/api/written-verdicts/{REPORT}"}},
    )


def test_verdict__gone_since_an_earlier_look__differs() -> None:
    asked = reading(404)
    asked.seen_before.add(f"/api/written-verdicts/{REPORT}")
    check_verdicts(asked, BOUNTY)
    assert [found.requirement for found in asked.report.found] == ["bounty.verdict"]


@pytest.mark.parametrize("code", ["bounty_challenge_content_mismatch", "bounty_challenge_withheld"])
def test_page__that_is_not_there__is_counted(code: str) -> None:
    asked = reading(200)
    check_challenge(asked, "/api/bounties/1", BOUNTY, {"challenge": None, "error": {"code": code}})
    assert (asked.report.exit_code(), len(asked.report.passed_over["bounty.challenge"])) == (0, 1)


def test_missing_page_without_a_reason_differs() -> None:
    asked = reading(200)
    check_challenge(asked, "/api/bounties/1", BOUNTY, {"challenge": None})
    assert asked.report.exit_code() == 1
