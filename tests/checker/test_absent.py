"""Pages and written Verdicts that an API does not show are no difference, and are counted."""

import json

import pytest
from service_checker.asking import HttpReply, Node, PublicApi
from service_checker.chain import Chain
from service_checker.reading import AnswerCheck
from service_checker.report import CheckReport
from service_checker.rest import MAX_FRONTMATTER, check_challenge, check_verdicts, frontmatter

from tests.checker.logs import HUB, REPORT, Written

BOUNTY = Written().deployed().created().submitted().judged(0).replay().bounties[1]


@pytest.mark.attack
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
def test_frontmatter__that_is_hostile__is_refused_and_ends_no_check(text: str) -> None:
    findings = CheckReport()
    with findings.reading("bounty.challenge", "a page"):
        frontmatter(f"---\n{text}---\n")
    assert [found.requirement for found in findings.found] == ["bounty.challenge"]


def test_frontmatter__as_it_should_be__is_texts() -> None:
    assert frontmatter("---\nbounty_id: 7\ntitle: Yes\n---\nx\n") == {"bounty_id": "7", "title": "Yes"}


def reading(status: int) -> AnswerCheck:
    """A deployment that answers everything so."""
    return AnswerCheck(
        PublicApi("http://api", lambda *_: HttpReply(status, {}, b"{}")),
        Chain(Node("http://node"), HUB),
        CheckReport(),
        30,
    )


def counted(findings: CheckReport) -> dict[str, int]:
    found: dict[str, int] = json.loads(findings.as_json())["not_compared"]
    return found


@pytest.mark.parametrize("status", [404, 451])
def test_verdict__that_is_not_there__is_counted(status: int) -> None:
    asked = reading(status)
    check_verdicts(asked, BOUNTY)
    assert (asked.findings.exit_code(), counted(asked.findings)) == (0, {"bounty.verdict": 1})
    assert asked.findings.skipped["bounty.verdict"] == {f"/api/written-verdicts/{REPORT}"}
    assert "bounty.verdict  1 not compared" in "\n".join(asked.findings.lines())


@pytest.mark.parametrize("code", ["bounty_challenge_content_mismatch", "bounty_challenge_withheld"])
def test_page__that_is_not_there__is_counted(code: str) -> None:
    asked = reading(200)
    check_challenge(asked, "/api/bounties/1", BOUNTY, {"challenge": None, "error": {"code": code}})
    assert (asked.findings.exit_code(), counted(asked.findings)) == (0, {"bounty.challenge": 1})


def test_page__that_is_missing_without_a_reason__differs() -> None:
    asked = reading(200)
    check_challenge(asked, "/api/bounties/1", BOUNTY, {"challenge": None})
    assert asked.findings.exit_code() == 1
