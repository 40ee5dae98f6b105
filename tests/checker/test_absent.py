"""Pages and written Verdicts that an API does not show are no difference, and are counted."""

import json

import pytest

from tests.checker.logs import HUB, REPORT, Written
from tools.checker.asking import HttpReply, Node, PublicApi
from tools.checker.chain import Chain
from tools.checker.reading import AnswerCheck
from tools.checker.report import CheckReport
from tools.checker.rest import check_challenge, check_verdicts

BOUNTY = Written().deployed().created().submitted().judged(0).replay().bounties[1]


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
