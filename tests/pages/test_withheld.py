"""What the operator withholds: not on any page, feed, and each says so instead."""

import feedparser
import pytest
from bounty_protocol.domain.challenge.commitments import report_commitment
from bounty_protocol.wire.withheld import WithheldKind
from service_api.versions import MAX_STALENESS_SECONDS

from tests.pages.conftest import VARIABLES, Pages
from tests.pages.ledger import GUARDIANS, NOW, POSTER, SOLVERS, Bounty, account, page_of

TITLE = "Forbidden quetzal"
REASONS = "Meets every criterion"
PLACES = (
    "/", "/?show=all", "/bounties/1", f"/people/{POSTER}", f"/people/{SOLVERS[0]}", "/feed.atom",
    "/bounties/1/feed.atom", f"/people/{POSTER}/feed.atom", f"/people/{SOLVERS[0]}/feed.atom",
)  # fmt: skip


def open_bounty(pages: Pages) -> Bounty:
    return pages.ledger.add(page=page_of(title=TITLE), submitted=[SOLVERS[0]])


def text_of(pages: Pages, path: str) -> str:
    answer = pages.get(path)
    assert answer.status_code == 200
    return answer.get_data(as_text=True)


@pytest.mark.parametrize("kind", [WithheldKind.BOUNTY, WithheldKind.ACCOUNT])
def test_withheld_page_is_nowhere_and_said_so(pages: Pages, kind: WithheldKind) -> None:
    pages.clock.step = 0.0
    bounty = open_bounty(pages)
    shown = [path for path in PLACES if TITLE in text_of(pages, path)]
    assert shown == list(PLACES)
    pages.ledger.withhold(kind, bounty.commitment if kind is WithheldKind.BOUNTY else POSTER, bounty_id=bounty.id)
    pages.clock.ticks += MAX_STALENESS_SECONDS
    for path in PLACES:
        found = text_of(pages, path)
        assert TITLE not in found
        assert "withheld" in found
    detail = text_of(pages, "/bounties/1")
    assert "An order of a &lt;court&gt;" in detail
    assert 'href="/withheld"' in detail
    refused = pages.get("/bounties/1/challenge.md")
    assert (refused.status_code, refused.headers["Cache-Control"]) == (451, "no-store")
    assert TITLE not in refused.get_data(as_text=True)
    pages.ledger.withheld.clear()
    pages.clock.ticks += MAX_STALENESS_SECONDS
    assert [path for path in PLACES if TITLE in text_of(pages, path)] == shown


def test_feed_of_a_withheld_page_is_taken_anew(pages: Pages) -> None:
    bounty = open_bounty(pages)
    pages.ledger.withhold(WithheldKind.BOUNTY, bounty.commitment)
    (entry,) = feedparser.parse(pages.get("/feed.atom").data).entries
    assert entry["published"] < entry["updated"]


@pytest.mark.parametrize("kind", [WithheldKind.VERDICT, WithheldKind.ACCOUNT])
def test_withheld_reasons_are_not_shown(pages: Pages, kind: WithheldKind) -> None:
    bounty = pages.ledger.add(page=page_of(title=TITLE), deadline=NOW - 1_200, submitted=[SOLVERS[0]])
    bounty.award(SOLVERS[0], at=NOW - 300)
    assert text_of(pages, "/bounties/1").count(REASONS) >= 2
    written = bounty.verdicts[0].written or b""
    subject = report_commitment(written) if kind is WithheldKind.VERDICT else GUARDIANS[0]
    pages.ledger.withhold(kind, subject)
    pages.clock.ticks += MAX_STALENESS_SECONDS
    found = text_of(pages, "/bounties/1")
    assert f"{REASONS}, says 0" not in found
    assert f"{REASONS}, says 1" in found
    assert "has withheld this text here" in found
    assert TITLE in found


def test_withheld_list_names_each_kind(pages: Pages) -> None:
    assert "Nothing is withheld" in text_of(pages, "/withheld")
    bounty = open_bounty(pages)
    pages.ledger.withhold(WithheldKind.BOUNTY, bounty.commitment, bounty_id=bounty.id)
    pages.ledger.withhold(WithheldKind.VERDICT, "0x" + "11" * 32, bounty_id=bounty.id)
    for number in range(99):
        pages.ledger.withhold(WithheldKind.ACCOUNT, account(f"poster {number}"))
    pages.ledger.withhold(WithheldKind.ACCOUNT, POSTER)
    pages.clock.ticks += MAX_STALENESS_SECONDS
    found = text_of(pages, "/withheld")
    assert all(each in found for each in ("The page of bounty 1", "A written Verdict on bounty 1", account("poster 1")))
    assert 'href="/withheld?after=100"' in found
    assert f"/people/{POSTER}" in text_of(pages, "/withheld?after=100")
    assert pages.get("/withheld?after=x").status_code == 404
    assert pages.get("/withheld?before=1").status_code == 400


def test_report_address_is_on_every_page() -> None:
    for variables, is_there in (
        (VARIABLES, False),
        (VARIABLES | {"SERVICE_REPORT_ADDRESS": "mailto:a@b.example"}, True),
    ):
        pages = Pages(variables=dict(variables))
        for path in ("/", "/withheld", "/glossary"):
            assert ('href="mailto:a@b.example"' in text_of(pages, path)) is is_there
