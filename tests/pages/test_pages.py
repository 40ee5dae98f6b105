"""What the pages show of what the API answers, and what they never show."""

import json
import re
from dataclasses import replace
from pathlib import Path

import feedparser
import pytest
from bounty_protocol.domain.lifecycle.states import Outcome, SettlementReason, VerdictKind
from bounty_protocol.domain.money.amounts import AmountKind
from bounty_protocol.types import ZERO_ADDRESS, BountyId, TokenAmount
from bounty_protocol.wire.deployment import TokenDescription
from service_api.pages import formatting
from sqlalchemy import event

from tests.pages.conftest import Pages, text_of
from tests.pages.ledger import GUARDIANS, NOW, POSTER, SOLVERS, Bounty, account, page_of

EVERY_PAGE = (
    "/", "/?show=all", "/?show=judging", "/?show=decided", "/bounties/1", "/bounties/1/challenge.md",
    f"/people/{POSTER}", f"/people/{account('nobody')}", "/guardians", "/deployment", "/how-it-works",
    "/glossary", "/publish",
)  # fmt: skip


ACTING_PAGES = ("/bounties/1", "/guardians", "/publish")


def accepting(bounty: Bounty) -> None:
    bounty.submitted = [SOLVERS[0]]


def judging(bounty: Bounty) -> None:
    bounty.submitted, bounty.deadline = [SOLVERS[0]], NOW - 600


def sealed(bounty: Bounty) -> None:
    bounty.submitted, bounty.deadline = [SOLVERS[0]], NOW - 10


def due(bounty: Bounty) -> None:
    bounty.deadline = NOW - 10


def awarded(bounty: Bounty) -> None:
    bounty.submitted, bounty.deadline = [SOLVERS[0], SOLVERS[1]], NOW - 1_200
    bounty.award(SOLVERS[0], at=NOW - 300)


def silent(bounty: Bounty) -> None:
    bounty.submitted, bounty.deadline = [SOLVERS[0]], NOW - 90_000
    bounty.outcome, bounty.reason = Outcome.NO_VALID_SUBMISSION, SettlementReason.GUARDIANS_SILENT


STAGES = {
    "Open for work": accepting,
    "Work is sealed": sealed,
    "Being judged": judging,
    "Time is up": due,
    "Awarded": awarded,
    "Not awarded": silent,
}


@pytest.mark.parametrize("label", STAGES)
def test_bounty_in_each_stage_is_named(pages: Pages, label: str) -> None:
    STAGES[label](pages.ledger.add())
    shown = pages.text("/bounties/1")
    assert f"State {label}" in shown
    assert "The challenge matches the commitment on the chain." in shown
    assert f"A fast parser {label}" in pages.text("/?show=all")


@pytest.mark.parametrize(
    ("show", "labels"),
    [("open", {"Open for work"}), ("judging", {"Work is sealed", "Being judged", "Time is up"}),
     ("decided", {"Awarded", "Not awarded"}), ("all", set(STAGES))],
)  # fmt: skip
def test_filter_shows_those_bounties_only(pages: Pages, show: str, labels: set[str]) -> None:
    for label, change in STAGES.items():
        change(pages.ledger.add(page=page_of(title=f"The title of {label}")))
    shown = pages.text(f"/?show={show}")
    assert {label for label in STAGES if f"The title of {label}" in shown} == labels


def test_money_of_an_open_bounty_is_of_each_ending(pages: Pages) -> None:
    pages.ledger.add()
    shown = pages.text("/bounties/1")
    assert "A Submission is awarded Winner 24 USDC Poster 0 USDC Guardians 0.75 USDC Protocol 0.25 USDC" in shown
    assert "no valid Submission Winner 0 USDC Poster 24.25 USDC Guardians 0.75 USDC Protocol 0 USDC" in shown
    assert "No Guardian judges in time Winner 0 USDC Poster 25 USDC Guardians 0 USDC Protocol 0 USDC" in shown


def test_head_of_an_ended_bounty_is_a_sentence(pages: Pages) -> None:
    won, lost = pages.ledger.add(), pages.ledger.add()
    awarded(won)
    silent(lost)
    won.claims = [(AmountKind.WINNER_AWARD, SOLVERS[0], 24_000_000)]
    wanted = r"Won 24 USDC 0x\S+ won 24 USDC\. Of the escrow, 1 USDC is still to be claimed\."
    assert re.search(wanted, pages.text("/bounties/1"))
    shown = pages.text("/bounties/2")
    assert "Back to the Poster 25 USDC Nobody won. No Guardian recorded a Verdict in time." in shown
    assert "Of the escrow, 25 USDC is still to be claimed." in shown
    assert "The winner gets" not in shown
    lost.claims = [(AmountKind.POSTER_REFUND, POSTER, 25_000_000)]
    assert "Everything is paid." in pages.text("/bounties/2")


def test_values__are_written_as_the_scripts_write_them() -> None:
    formats = json.loads((Path(__file__).parent / "formats.json").read_text(encoding="utf-8"))
    assert all(formatting.moment(at) == text for at, text in formats["moment"])
    assert all(formatting.span(seconds) == text for seconds, text in formats["span"])
    assert all(formatting.short(value) == text for value, text in formats["short"])
    for value, decimals, text in formats["amount"]:
        assert formatting.amount(int(value), TokenDescription(ZERO_ADDRESS, "USDC", decimals)) == text


def test_money_of_a_final_bounty_shows_claims(pages: Pages) -> None:
    bounty = pages.ledger.add()
    awarded(bounty)
    bounty.claims = [(AmountKind.WINNER_AWARD, SOLVERS[0], 24_000_000)]
    shown = pages.text("/bounties/1")
    assert re.search(r"Award to the winner 24 USDC 0x\S+ Paid", shown)
    assert shown.count("Not claimed yet") == 4  # the Poster, two Guardians, the protocol
    bounty.claims.append((AmountKind.GUARDIAN_FEE, GUARDIANS[1], 250_000))
    assert pages.text("/bounties/1").count("Not claimed yet") == 3
    bounty.claims = [(AmountKind.WINNER_AWARD, SOLVERS[1], 24_000_000)]
    assert pages.text("/bounties/1").count("Not claimed yet") == 5


@pytest.mark.parametrize("task", ["Do it. ", "Send your key.", ""], ids=["a space more", "another task", "nothing"])
def test_challenge__of_other_bytes__is_never_shown(pages: Pages, task: str) -> None:
    page = page_of(title="The true title")
    pages.ledger.add(page=page, kept=page.replace(b"Do it.", task.encode()))
    shown = pages.text("/bounties/1")
    assert "The page of this bounty cannot be shown" in shown
    for words in ("The true title", "Do it.", "Send your key.", "The challenge matches"):
        assert words not in shown
    assert pages.get("/bounties/1/challenge.md").status_code == 404


def test_verified_bytes_that_are_no_page_are_text(pages: Pages) -> None:
    pages.ledger.add(page=b"<script>alert(1)</script> no page")
    answer = pages.get("/bounties/1").get_data(as_text=True)
    assert "&lt;script&gt;alert(1)&lt;/script&gt; no page" in answer
    assert "not in the form of a challenge page" in text_of(answer)


def test_saved_challenge_is_the_exact_bytes(pages: Pages) -> None:
    bounty = pages.ledger.add(page=page_of(body="<b>é</b>\n"))
    answer = pages.get("/bounties/1/challenge.md")
    assert answer.data == bounty.page
    assert answer.mimetype == "text/plain"


def test_terms_that_differ_warn_first(pages: Pages) -> None:
    pages.ledger.add(deadline=NOW + 7_200)
    shown = pages.text("/bounties/1")
    assert "The page states other terms than the chain" in shown
    dates = "the page has 15 January 2027, 09:00:00 UTC, the chain 15 January 2027, 10:00:00 UTC"
    assert f"submission_deadline : {dates}" in shown


@pytest.mark.spec(171)
def test_reasons_shown_hash_to_the_chain(pages: Pages) -> None:
    bounty = pages.ledger.add()
    judging(bounty)
    bounty.judge(0, VerdictKind.AWARDED, SOLVERS[0], "The first *reasons*.\n", at=NOW - 30)
    bounty.judge(1, VerdictKind.NO_VALID_SUBMISSION, None, "The second reasons.\n", at=NOW - 20)
    shown = pages.text("/bounties/1")
    assert "The first reasons ." in shown
    assert "The second reasons." in shown
    assert "Reasons that are shown match what the Guardians recorded." in shown

    for number, each in enumerate(bounty.verdicts):
        bounty.verdicts[number] = replace(each, kept=(each.written or b"").replace(b"reasons", b"bribes"))
    shown = pages.text("/bounties/1")
    assert "bribes" not in shown
    assert "Reasons that are shown" not in shown
    assert shown.count("nobody has published a text that matches what this Guardian recorded.") == 2


def test_verdict__of_no_document__says_so(pages: Pages) -> None:
    bounty = pages.ledger.add()
    judging(bounty)
    bounty.judge(0, VerdictKind.NO_VALID_SUBMISSION, None, "Nothing works.\n", at=NOW - 30)
    bounty.judge(1, VerdictKind.NO_VALID_SUBMISSION, None, "Nothing.\n", at=NOW - 20)
    bounty.verdicts[1] = replace(bounty.verdicts[1], written=None)
    shown = pages.text("/bounties/1")
    assert "Nothing works." in shown
    assert shown.count("nobody has published a text that matches what this Guardian recorded.") == 1


def test_verdict_for_another_bounty_is_marked(pages: Pages) -> None:
    bounty, other = pages.ledger.add(), pages.ledger.add(page=page_of(title="Other"))
    for each in (bounty, other):
        judging(each)
    other.judge(0, VerdictKind.AWARDED, SOLVERS[0], "Good.\n", at=NOW - 30)
    assert "do not name this bounty" not in pages.text("/bounties/2")
    bounty.verdicts = list(other.verdicts)
    assert "These reasons do not name this bounty and this Verdict in the required form." in pages.text("/bounties/1")


def test_replaced_verdict_is_shown(pages: Pages) -> None:
    bounty = pages.ledger.add()
    judging(bounty)
    bounty.judge(0, VerdictKind.AWARDED, SOLVERS[0], "Good.\n", at=NOW - 90)
    assert "Replaced" not in pages.text("/bounties/1")
    bounty.judge(0, VerdictKind.NO_VALID_SUBMISSION, None, "Nothing.\n", at=NOW - 60)
    shown = pages.text("/bounties/1")
    before, _, now = shown.partition("before, awards the work of")[2].partition("; now,")
    assert SOLVERS[0][:6] in before
    assert now.strip().startswith("finds no valid Submission")
    assert "record your Verdict again" in shown
    entries = feedparser.parse(pages.get("/bounties/1/feed.atom").data).entries
    (entry,) = [each for each in entries if ":replaced:" in each.id]
    assert f"an award to {SOLVERS[0]}; now, no valid Submission" in entry.summary


def test_lost_work_is_marked_until_it_is_back(pages: Pages) -> None:
    pages.ledger.add(submitted=[SOLVERS[0], SOLVERS[1]], lost={SOLVERS[1]})
    shown = pages.text("/bounties/1")
    assert shown.count("Sealed bytes lost") == 1
    assert "solver:submit 1 DIRECTORY" in shown
    assert "upload it again" in pages.text(f"/people/{SOLVERS[1]}")
    assert "upload it again" not in pages.text(f"/people/{SOLVERS[0]}")
    for path, count in (("/bounties/1", 1), (f"/people/{SOLVERS[1]}", 1), (f"/people/{SOLVERS[0]}", 0)):
        assert pages.get(f"{path}/feed.atom").text.count(":lost:") == count
    pages.ledger.bounties[BountyId(1)].lost.clear()
    assert "Sealed bytes lost" not in pages.text("/bounties/1")


def test_record__of_a_final_bounty__is_shown(pages: Pages) -> None:
    awarded(pages.ledger.add())
    assert "Digest of the log" in pages.text("/bounties/1")


def test_finality__of_a_young_block__is_said_by_times(pages: Pages) -> None:
    pages.ledger.add(block=5_000, created_at=NOW - 3)
    pages.ledger.add(block=4_991, created_at=NOW - 20)  # a block of the finalized one's second
    pages.ledger.add(block=4_990, created_at=NOW - 20)
    assert "The terms of this bounty can still change for about 17 seconds" in pages.text("/bounties/1")
    assert "The terms of this bounty can still change for about 1 second:" in pages.text("/bounties/2")
    assert "The terms of this bounty can no longer change" in pages.text("/bounties/3")


def test_text_is_in_the_language_it_names(pages: Pages) -> None:
    pages.ledger.add(page=page_of(title="Schnell").replace(b"language: en", b"language: de"))
    html = pages.get("/bounties/1").get_data(as_text=True)
    for start in ('<h1 lang="de">', '<p class="lead" lang="de">', '<ul lang="de">'):
        assert start in html
    assert re.search(r'class="stranger"[^>]* lang="de"', html)
    assert html.startswith('<!doctype html>\n<html lang="en">')


def test_page_of_a_bounty_is_one_moment(pages: Pages) -> None:
    awarded(pages.ledger.add())
    pages.get("/bounties/1")  # its record is derived once, and kept
    asked = list[str]()
    event.listen(pages.resources.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    event.listen(pages.resources.engine, "begin", lambda _: asked.append("BEGIN"))
    pages.get("/bounties/1")
    statements = [each for each in asked if each != "BEGIN"]
    assert len(statements) <= 6
    assert (asked.count("BEGIN"), sum("updated_at" in each for each in statements)) == (1, 1)


def test_timeline__as_text__has_every_moment(pages: Pages) -> None:
    bounty = pages.ledger.add()
    awarded(bounty)
    shown = pages.text("/bounties/1")
    assert "Created 15 January 2027, 06:00:00 UTC (2 hours ago)" in shown
    assert "Decided 15 January 2027, 07:55:01 UTC" in shown
    assert "Judging ends 15" not in shown  # it was decided before
    assert "All paid out not yet" in shown


def test_person__with_work_to_do__sees_it_first(pages: Pages) -> None:
    judging(pages.ledger.add(page=page_of(title="To judge")))
    won = pages.ledger.add(page=page_of(title="Won work"))
    awarded(won)
    silent(pages.ledger.add(page=page_of(title="Nobody judged")))
    solver, poster, guardian = (pages.text(f"/people/{each}") for each in (SOLVERS[0], POSTER, GUARDIANS[0]))
    assert "Won work Claim the award, as Solver" in solver
    assert "Nobody judged Claim the refund, as Poster" in poster
    assert "To judge Judge the Submissions, as Guardian: until" in guardian
    assert "Won work Claim the fee for the Verdict, as Guardian" in guardian
    assert "Guardian of the current roster" in guardian
    assert "Won work Claim the refund, as Poster" in poster  # the share of the Guardian who did not judge
    recipient = pages.text(f"/people/{account('fees')}")
    assert "Won work Claim the protocol fee, as its recipient" in recipient
    assert "Nobody judged" not in recipient
    won.claims = [
        (AmountKind.WINNER_AWARD, SOLVERS[0], 24_000_000),
        (AmountKind.POSTER_REFUND, POSTER, 250_000),
        (AmountKind.PROTOCOL_FEE, account("fees"), 250_000),
    ]
    assert "Claim the award" not in pages.text(f"/people/{SOLVERS[0]}")
    assert "Won work Claim the refund" not in pages.text(f"/people/{POSTER}")
    assert "Claim the protocol fee" not in pages.text(f"/people/{account('fees')}")


def test_guardian_has_the_bounty_to_judge_first(pages: Pages) -> None:
    judging(pages.ledger.add(page=page_of(title="To judge")))
    due(pages.ledger.add(page=page_of(title="Without work")))
    for _ in range(101):
        pages.ledger.add()
    shown = pages.text(f"/people/{GUARDIANS[0]}")
    assert "What waits for this account To judge Judge the Submissions, as Guardian: until" in shown
    assert "Without work Judg" not in shown
    assert "more bounties than are checked here" in shown


def test_person_with_an_older_award_can_claim_it(pages: Pages) -> None:
    awarded(pages.ledger.add(page=page_of(title="Won long ago")))
    for _ in range(51):
        pages.ledger.add(submitted=[SOLVERS[0]])
    shown = pages.text(f"/people/{SOLVERS[0]}")
    assert "Won long ago Claim the award, as Solver" in shown
    assert "more bounties than are checked" not in shown


def test_person_with_many_bounties_is_told(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service_api.pages.person.MOST_OF_PERSON", 2)
    pages.ledger.add(submitted=[SOLVERS[0]])
    assert "more bounties than are checked" not in pages.text(f"/people/{SOLVERS[0]}")
    pages.ledger.add(submitted=[SOLVERS[0]])
    assert "more bounties than are checked" in pages.text(f"/people/{SOLVERS[0]}")


def test_person_with_many_claims_claims_none_again(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service_api.pages.person.MOST_OF_PERSON", 2)
    bounties = [pages.ledger.add(page=page_of(title=f"Won as number {number}")) for number in range(3)]
    for bounty in bounties:
        awarded(bounty)
        bounty.claims = [(AmountKind.PROTOCOL_FEE, account("fees"), 250_000)]
    shown = pages.text(f"/people/{account('fees')}")
    assert "Claim the protocol fee" not in shown
    assert "more bounties than are checked" in shown


def test_poster_has_a_bounty_to_settle(pages: Pages) -> None:
    due(pages.ledger.add(page=page_of(title="No work came")))
    judging(pages.ledger.add(page=page_of(title="In the works")))
    shown = pages.text(f"/people/{POSTER}")
    assert "No work came Settle the bounty, then claim the refund, as Poster" in shown
    assert re.search(r"No work came 25 USDC, [^.]*? Time is up", shown.partition("Posted")[2])
    assert "In the works Settle" not in shown


def test_guardian_has_a_bounty_to_settle(pages: Pages) -> None:
    bounty = pages.ledger.add(page=page_of(title="No quorum"), deadline=NOW - 9_000, submitted=[SOLVERS[0]])
    bounty.judge(0, VerdictKind.AWARDED, SOLVERS[0], "It does.\n", at=NOW - 5_000)
    to_settle = "No quorum Settle the bounty, then claim the "
    assert f"{to_settle}fee for the Verdict, as Guardian" in pages.text(f"/people/{GUARDIANS[0]}")
    assert f"{to_settle}refund, as Poster" in pages.text(f"/people/{POSTER}")
    for other in (GUARDIANS[1], SOLVERS[0]):
        assert "Settle the bounty" not in pages.text(f"/people/{other}")


def test_person_waits_for_no_refund_of_nothing(pages: Pages) -> None:
    bounty = pages.ledger.add()
    awarded(bounty)
    bounty.judge(2, VerdictKind.AWARDED, SOLVERS[0], "It does.\n", at=NOW - 310)
    assert "Claim the refund" not in pages.text(f"/people/{POSTER}")


def test_person_waits_for_no_share_of_nothing(pages: Pages) -> None:
    awarded(pages.ledger.add(escrow=TokenAmount(60)))
    assert "Claim the fee" not in pages.text(f"/people/{GUARDIANS[0]}")


def test_person_shows_what_it_did(pages: Pages) -> None:
    bounty = pages.ledger.add(page=page_of(title="One"), deadline=NOW - 1_200)
    bounty.submitted = [SOLVERS[0], SOLVERS[1]]
    bounty.award(SOLVERS[0], at=NOW - 300)
    pages.ledger.add(page=page_of(title="Two"), submitted=[SOLVERS[0]])
    assert "2 posted: 1 awarded" in pages.text(f"/people/{POSTER}")
    assert "usual time to an outcome: 14 minutes" in pages.text(f"/people/{POSTER}")
    solver = pages.text(f"/people/{SOLVERS[0]}")
    assert "Submitted to 2, won 1, 1 open; total won: 24 USDC" in solver
    assert "Accounts cost nothing" in solver
    assert "Verdicts: 1 of 1 that were due; missed: 0" in pages.text(f"/people/{GUARDIANS[0]}")


def test_person__nobody_knows__has_an_empty_page(pages: Pages) -> None:
    assert pages.text(f"/people/{account('nobody')}").count("Nothing.") == 5


def test_person_in_another_spelling_is_led_on(pages: Pages) -> None:
    answer = pages.get(f"/people/0x{POSTER[2:].upper()}")
    assert (answer.status_code, answer.headers["Location"]) == (301, f"/people/{POSTER}")


def test_guardians__as_they_judged__are_counted(pages: Pages) -> None:
    awarded(pages.ledger.add())
    silent(pages.ledger.add())
    shown = pages.text("/guardians")
    assert "2 of 3 decide bounties created now" in shown
    assert "Of 2 decided bounties." in shown
    first, third = (f"{each[:6]}…{each[-4:]}" for each in (GUARDIANS[0], GUARDIANS[2]))
    assert f"{first} 5 minutes ago 1 1 14 minutes" in shown
    assert f"{third} 10 minutes ago 0 2 –" in shown


def test_find__a_number_or_an_address__leads_there(pages: Pages) -> None:
    for asked, place in (("7", "/bounties/7"), ("+%237+", "/bounties/7"), (POSTER, f"/people/{POSTER}")):
        answer = pages.get(f"/find?q={asked}")
        assert (answer.status_code, answer.headers["Location"]) == (303, place)
    for asked in ("parser", "7.5", "%3Cscript%3E", "%2F%2Fevil.example"):
        answer = pages.get(f"/find?q={asked}")
        assert (answer.status_code, answer.headers["Location"]) == (303, f"/?show=all&search={asked}")
    for asked in ("", "0x12", "0xzz", "9999999999999999999"):
        answer = pages.get(f"/find?q={asked}")
        assert answer.status_code == 404
        assert b"<script" not in answer.data


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/bounties/0", "/bounties/01", "/bounties/x", "/bounties/9999999999999999999", "/bounties/99",
     "/people/0x12", "/people/poster", "/assets/style.css",
     "//evil.example", "//evil.example/", "/bounties//1", "/nothing/", "/assets/..%2fapp.py"],
)  # fmt: skip
def test_path__of_nothing__is_a_page_that_says_so(pages: Pages, path: str) -> None:
    path, _, query = path.partition("?")
    pages.write()
    answer = pages.client.get("/", environ_overrides={"PATH_INFO": path, "QUERY_STRING": query})
    assert answer.status_code == 404
    assert answer.mimetype == "text/html"
    what = "bounty" if path == "/bounties/99" else "page"
    assert f"There is no such {what}" in text_of(answer.get_data(as_text=True))


@pytest.mark.parametrize(
    ("path", "place"),
    [("/bounties", "/"), ("/bounties/", "/bounties"), ("/people", "/find"), ("/people/", "/people"),
     ("/bounties/1/", "/bounties/1"), ("/guardians/", "/guardians"), ("/bounties/99/", "/bounties/99")],
)  # fmt: skip
def test_cut_off_path_leads_on(pages: Pages, path: str, place: str) -> None:
    answer = pages.get(path)
    assert (answer.status_code, answer.headers["Location"]) == (301, place)


@pytest.mark.parametrize("path", EVERY_PAGE)
def test_query__nobody_knows__is_refused_everywhere(pages: Pages, path: str) -> None:
    pages.ledger.add()
    assert pages.get(path).status_code == 200
    join = "&" if "?" in path else "?"
    assert pages.get(f"{path}{join}utm_source=x").status_code == 400


@pytest.mark.parametrize("path", [*EVERY_PAGE, "/nothing", "/feed.atom"])
def test_every_answer_has_the_policy_and_no_cookie(pages: Pages, path: str) -> None:
    pages.ledger.add()
    pages.clock.step = 0.0
    for _ in range(2):  # the second is a kept one
        answer = pages.get(path)
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'; img-src 'self'")
        assert "unsafe" not in policy
        assert ("script-src 'self';" in policy) == (path in ACTING_PAGES)
        assert ("connect-src" in policy) == (path in ACTING_PAGES)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("path", [path for path in EVERY_PAGE if not path.endswith(".md")])
def test_page_names_only_this_origin(pages: Pages, path: str) -> None:
    awarded(pages.ledger.add())
    html = pages.get(path).get_data(as_text=True)
    text_of(html)
    if path in ACTING_PAGES:
        html, count = re.subn(r'<script type="module" src="/assets/connect-\w+\.js"></script>', "", html)
        assert count == 1
    for forbidden in ("<script", "style=", " onclick", "<iframe", "http-equiv", "javascript:"):
        assert forbidden not in html
    for reference in (*_values(html, "src"), *_values(html, "srcset")):
        assert reference.startswith("/")
    assert html.count("<h1") == 1
    assert html.count("<main") == 1


def _values(html: str, attribute: str) -> list[str]:
    return [part.partition('"')[0] for part in html.split(f' {attribute}="')[1:]]


def test_method__other_than_reading__is_refused(pages: Pages) -> None:
    answer = pages.client.post("/bounties/1")
    assert answer.status_code == 405
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD", "OPTIONS"}


def test_body__where_none_belongs__is_refused(pages: Pages) -> None:
    assert pages.client.get("/how-it-works", data=b"x").status_code == 400


def test_page__unchanged__is_not_sent_again(pages: Pages) -> None:
    pages.ledger.add()
    etag = pages.get("/bounties/1").headers["ETag"]
    answer = pages.get("/bounties/1", **{"If-None-Match": etag})
    assert (answer.status_code, answer.data) == (304, b"")
    pages.ledger.bounties[next(iter(pages.ledger.bounties))].submitted = [SOLVERS[0]]
    assert pages.get("/bounties/1", **{"If-None-Match": etag}).status_code == 200


def test_page__asked_for_often__is_made_once(pages: Pages) -> None:
    pages.ledger.add()
    pages.clock.step = 0.0
    first = pages.get("/bounties/1").data
    pages.ledger.bounties.clear()
    assert pages.get("/bounties/1").data == first


def test_strangers_over_budget_get_a_page(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.thread_time", lambda: 0.0)  # a request that takes long counts as several
    pages = Pages(pages.ledger, variables=pages.variables | {"SERVICE_BUDGET_FACTOR": "1"})
    pages.clock.step = 0.0
    statuses = [pages.get(f"/find?q={number}").status_code for number in range(1, 1_202)]
    assert set(statuses[:1_200]) == {303}
    assert statuses[1_200] == 429
    assert "Too many requests" in pages.text("/find?q=1", 429)
