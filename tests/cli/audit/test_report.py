"""What an audit says to people: one paragraph first, what differs listed, what holds folded; and the same as a page."""

import json
from html.parser import HTMLParser

import pytest
from bounty_protocol.domain.challenge import parse_challenge
from bounty_protocol.domain.lifecycle import SettlementReason
from service_cli.audit.events import Difference
from service_cli.audit.history import BountyHistory, ServiceEvidence
from service_cli.audit.report import Report, page, paragraph, verdicts_of

from tests.cli.api_twin import ApiTwin
from tests.cli.audit.test_rules import ended
from tests.cli.audited import Audited
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.lies import lie_at
from tests.cli.servers import as_json
from tests.cli.terminal import Terminal


def units(value: int) -> str:
    return f"{value} units"


def test_paragraph__of_an_award__names_winner_money_and_guardians(
    ledger: Ledger, audited: Audited, histories: dict[str, BountyHistory]
) -> None:
    text = paragraph(histories[audited.awarded], Report(), units)
    assert text.startswith(
        f"Bounty {audited.awarded} was awarded to {audited.solver} for Submission {audited.commitment}."
    )
    assert f"Of the escrow of {ESCROW} units it gives the winner {ESCROW * 96 // 100} units (claimed)" in text
    assert "2 of 3 Guardians recorded a Verdict, 2 had to agree" in text
    first, second, third = (guardian.address for guardian in ledger.people.guardians)
    verdicts = verdicts_of(histories[audited.awarded])
    assert (set(verdicts.supporting), verdicts.others, verdicts.silent) == ({first, second}, (), (third,))
    assert all(account in text for account in verdicts.supporting)


@pytest.mark.parametrize(
    ("which", "reason"),
    [
        ("refunded", "a quorum of Guardians found no valid Submission"),
        ("silent", "no Guardian recorded a Verdict in time"),
    ],
)
def test_paragraph__of_a_bounty_without_a_winner__says_why(
    audited: Audited, histories: dict[str, BountyHistory], which: str, reason: str
) -> None:
    text = paragraph(histories[getattr(audited, which)], Report(), units)
    assert f"ended without a winner: {reason}." in text
    assert "the winner" not in text


def test_paragraph__where_no_quorum_was_reached__says_that_none_decided(
    audited: Audited, histories: dict[str, BountyHistory]
) -> None:
    decided, undecided = histories[audited.refunded], ended(reason=SettlementReason.QUORUM_NOT_REACHED)
    assert "recorded this outcome." in paragraph(decided, Report(), units)
    assert "recorded this outcome, which no quorum decided." in paragraph(undecided(decided), Report(), units)


def test_audit__to_people__begins_with_the_paragraph_lists_what_differs_and_folds_the_rest(
    auditor: Terminal, api: ApiTwin, audited: Audited
) -> None:
    honest = auditor.audit(audited.awarded)
    lines = honest.words.splitlines()
    assert lines[0].startswith(f"Bounty {audited.awarded} was awarded to ")
    assert " base units)" in lines[0]
    assert "checks none differs from the chain" in lines[0]
    assert "could not be checked (envelope, ciphertext)" in lines[0]
    assert [line.split()[0] for line in lines[1:]] == ["not", "not", "not", "holds"]
    detail = lie_at("verification_record", "winner", "solver_address")(json.loads(audited.details[audited.awarded]))
    api.scripts["detail"] = lambda _: (200, json.dumps(detail).encode(), {})
    lied = auditor.audit(audited.awarded, code=1)
    assert "checks 1 differs from the chain" in lied.words.splitlines()[0]
    assert honest.events[0] == lied.events[0]


def test_audit__as_a_command_of_the_client__is_the_same(auditor: Terminal, audited: Audited) -> None:
    ours, own = auditor.run("audit", audited.awarded), auditor.audit(audited.awarded)
    assert ours.names == own.names
    assert ours.last == own.last
    auditor.run("audit", code=2)


HOSTILE = "<script>alert(1)</script><img src=https://a.example/x onerror=x>\"'&\u202e\x1b[31m"


class Parsed(HTMLParser):
    """Every element and attribute, and all text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def test_page__of_an_audit__is_complete_and_asks_nobody(auditor: Terminal, audited: Audited) -> None:
    ran = auditor.audit(audited.awarded, "--html", "report.html")
    assert ran.event("service_audit.page_written")["path"] == "report.html"
    assert ran.last["event"] == "service_audit.finished"
    found = Parsed((auditor.home / "report.html").read_text())
    assert not {"script", "link", "img", "iframe", "object", "form", "base"} & set(found.tags)
    assert not {"src", "href", "style", "onclick"} & {name for name, _ in found.attributes}
    assert any(value is not None and value.startswith("default-src 'none'") for _, value in found.attributes)
    assert f"Bounty {audited.awarded} was awarded to {audited.solver}" in found.text
    assert found.text.index("Holds.") < found.text.index(f"Bounty {audited.awarded} was awarded")
    challenge = str(json.loads(audited.details[audited.awarded])["challenge"])
    assert parse_challenge(challenge.encode()).title in found.text
    assert found.text.count("As the criteria say.") == 2  # of two Guardians, and not what one of them replaced
    assert "prefers-color-scheme: dark" in (auditor.home / "report.html").read_text()
    before = (auditor.home / "report.html").read_bytes()
    assert auditor.audit(audited.awarded, "--html", "report.html", code=1).last["code"] == "bundle_exists"
    assert (auditor.home / "report.html").read_bytes() == before


def test_page__of_an_audit_that_differs__is_written_and_names_the_place(
    auditor: Terminal, api: ApiTwin, audited: Audited
) -> None:
    api.scripts["detail"] = lambda _: as_json({"bounty_id": HOSTILE})
    ran = auditor.audit(audited.awarded, "--html", "report.html", code=1)
    assert ran.last["code"] == "audit_differs"
    found = Parsed((auditor.home / "report.html").read_text())
    assert "What differs from the chain" in found.text
    assert found.text.index("Differs.") < found.text.index("What it rests on")
    assert "script" not in found.tags


def test_page__of_documents_that_are_not_the_committed_ones__shows_neither_title_nor_reasons(
    audited: Audited, histories: dict[str, BountyHistory]
) -> None:
    history = histories[audited.awarded]
    forged = {each.event.report_commitment: b"Forged reasons." for each in history.verdicts}
    detail = json.dumps({"challenge": "---\ntitle: Forged title\n---\n"}).encode()
    text = Parsed(page(history, Report(), ServiceEvidence(detail, verdicts=forged), str)).text
    assert "Forged" not in text
    assert text.count("not the one that was recorded") == 2


def test_page__with_what_the_audited_side_wrote__escapes_all_of_it(
    audited: Audited, histories: dict[str, BountyHistory]
) -> None:
    report, clean = Report(), Report()
    report.judge(f"bounty.{HOSTILE}", [Difference(HOSTILE, HOSTILE, HOSTILE)], HOSTILE, HOSTILE)
    report.holds(HOSTILE, HOSTILE)
    report.not_checked(HOSTILE, HOSTILE)
    clean.judge("bounty.x", [Difference("x", "x", "x")], "x", "x")
    clean.holds("x", "x")
    clean.not_checked("x", "x")
    history = histories[audited.awarded]
    service = ServiceEvidence()
    text = page(history, report, service, str)
    assert Parsed(text).tags == Parsed(page(history, clean, service, str)).tags
    assert "<script>alert(1)</script>" in Parsed(text).text
    assert "\u202e" not in text
    assert "\x1b" not in text
