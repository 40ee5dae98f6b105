"""Feeds, read back by a library that did not write them."""

import calendar
import io
from typing import Any

import feedparser
import pytest
from bounty_protocol.domain.challenge.readable import readable_line
from bounty_protocol.domain.lifecycle.states import Outcome, SettlementReason
from bounty_protocol.domain.money.amounts import AmountKind
from bounty_protocol.types import BountyId, parse_address
from html5lib import HTMLParser
from service_api.pages.feeds import FEED_LENGTH

from tests.pages.conftest import ORIGIN, Pages
from tests.pages.ledger import CHAIN, GUARDIANS, HUB, NOW, POSTER, SOLVERS, Bounty, Ledger, account, hash_of, page_of
from tests.titles import HOSTILE


@pytest.fixture
def lived(pages: Pages) -> Pages:
    """A bounty that was decided and partly paid, and an open one."""
    bounty = pages.ledger.add(page=page_of(title="Awarded <b>work</b> & more"), deadline=NOW - 1_200)
    bounty.submitted = [SOLVERS[0], SOLVERS[1]]
    bounty.award(SOLVERS[0], at=NOW - 300)
    bounty.claims = [(AmountKind.WINNER_AWARD, SOLVERS[0], 24_000_000)]
    pages.ledger.add(page=page_of(title="Open work"), created_at=NOW - 60, submitted=[SOLVERS[0]])
    return pages


def atom(pages: Pages, path: str) -> Any:
    answer = pages.get(f"{path}.atom")
    assert (answer.status_code, answer.mimetype) == (200, "application/atom+xml")
    found = feedparser.parse(io.BytesIO(answer.data))
    assert not found.bozo, found.bozo_exception
    return found


def entries(pages: Pages, path: str) -> dict[str, str]:
    """The kind of each entry, with its title."""
    prefix = f"urn:bounty-escrow:{CHAIN}:{HUB}:"
    found = {entry.id.removeprefix(prefix): entry.title for entry in atom(pages, path).entries}
    assert all(not name.startswith("urn") for name in found)
    return found


def test_feed_of_a_bounty_has_everything(lived: Pages) -> None:
    title = "Awarded <b>work</b> & more"
    assert entries(lived, "/bounties/1/feed") == {
        f"1:claim:winner_award:{SOLVERS[0]}": f"Paid: {title}",
        "1:decided": f"Decided: {title}",
        f"1:verdict:{GUARDIANS[1]}": f"Verdict: {title}",
        f"1:verdict:{GUARDIANS[0]}": f"Verdict: {title}",
        f"1:submission:{SOLVERS[0]}": f"Submission: {title}",
        f"1:submission:{SOLVERS[1]}": f"Submission: {title}",
        "1:created": f"New: {title}",
    }


def test_feeds_have_what_concerns_them(lived: Pages) -> None:
    assert {name.partition(":")[2] for name in entries(lived, "/feed") if name.startswith("2:")} == {"created"}
    assert set(entries(lived, f"/people/{SOLVERS[0]}/feed")) == {
        f"1:submission:{SOLVERS[0]}", f"2:submission:{SOLVERS[0]}", "1:decided", f"1:claim:winner_award:{SOLVERS[0]}",
    }  # fmt: skip
    assert set(entries(lived, f"/people/{POSTER}/feed")) == {"1:created", "2:created", "1:decided"}


def test_ending_has_the_time_of_its_settlement(lived: Pages) -> None:
    silent = lived.ledger.add(deadline=NOW - 90_000, submitted=[SOLVERS[0]])
    silent.outcome, silent.reason = Outcome.NO_VALID_SUBMISSION, SettlementReason.GUARDIANS_SILENT
    judged, settled = NOW - 299, NOW - 60
    for path, numbers in (("/feed", (1,)), (f"/people/{POSTER}/feed", (1, 3)), (f"/people/{SOLVERS[0]}/feed", (1, 3))):
        by_id = {entry.id: calendar.timegm(entry.updated_parsed) for entry in atom(lived, path).entries}
        endings = {number: by_id[f"urn:bounty-escrow:{CHAIN}:{HUB}:{number}:decided"] for number in numbers}
        assert endings == {number: judged if number == 1 else settled for number in numbers}


def test_feed_has_an_old_bounty_that_ended(pages: Pages) -> None:
    old = pages.ledger.add(deadline=NOW - 90_000, created_at=NOW - 900_000)
    old.outcome, old.reason = Outcome.NO_VALID_SUBMISSION, SettlementReason.NO_SUBMISSIONS
    for _ in range(FEED_LENGTH):
        pages.ledger.add()
    assert {"1:created", "1:decided"} & set(entries(pages, "/feed")) == {"1:decided"}


def test_title_of_a_reused_number_is_its_own(pages: Pages) -> None:
    for title in ("The first", "Another"):
        pages.ledger.bounties[BountyId(1)] = Bounty(BountyId(1), page=page_of(title=title))
        assert entries(pages, "/feed") == {"1:created": f"New: {title}"}


def test_lost_work__that_somebody_copied__is_lost_once(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bounty, "work", lambda bounty, _: hash_of(f"work {bounty.id}"))
    pages.ledger.add(submitted=[SOLVERS[0], SOLVERS[1]], lost={SOLVERS[0]})
    assert pages.text("/bounties/1").count("Sealed bytes lost") == 1
    pages.ledger.bounties[BountyId(1)].lost = {SOLVERS[0], SOLVERS[1]}
    lost = {name for name in entries(pages, "/bounties/1/feed") if ":lost:" in name}
    assert len(lost) == 2


def test_feed_has_the_newest_submissions(pages: Pages) -> None:
    """Those of the lowest addresses were read, which anybody can have."""
    newest = parse_address("0x" + "00" * 19 + "01")
    pages.ledger.add(submitted=[*(account(f"solver {number}") for number in range(1_000)), newest])
    assert f"1:submission:{newest}" in entries(pages, "/bounties/1/feed")


def test_tags_are_links_and_categories(pages: Pages) -> None:
    pages.ledger.add(page=page_of(title="Tagged", tags="parser, csv"))
    pages.ledger.add(page=page_of(title="Plain"))
    tagged = [[each.term for each in entry.get("tags", ())] for entry in atom(pages, "/feed").entries]
    assert sorted(tagged) == [[], ["parser", "csv"]]
    shown = pages.get("/?tag=csv").get_data(as_text=True)
    assert '<a rel="tag" href="/?show=all&amp;tag=parser">parser</a>' in shown
    assert "Plain" not in shown
    assert '<a rel="tag" href="/?show=all&amp;tag=csv">csv</a>' in pages.get("/bounties/1").get_data(as_text=True)
    assert "is not a tag" in pages.text("/?tag=no+tag")


def test_entry_leads_to_its_page(lived: Pages) -> None:
    (decided,) = (each for each in atom(lived, "/bounties/1/feed").entries if each.id.endswith(":decided"))
    assert decided.link == f"{ORIGIN}/bounties/1"
    assert calendar.timegm(decided.updated_parsed) == NOW - 299
    assert decided.summary == f"Awarded to {SOLVERS[0]}."


def test_entry_after_a_reorg_is_corrected(lived: Pages) -> None:
    before = {each.id: each for each in atom(lived, "/bounties/2/feed").entries}
    lived.ledger.bounties[max(lived.ledger.bounties)].created_at += 12
    after = {each.id: each for each in atom(lived, "/bounties/2/feed").entries}
    assert set(before) == set(after)
    moved = [name for name in before if before[name].updated != after[name].updated]
    assert {name.rpartition(":")[2] for name in moved} == {"created", SOLVERS[0]}


def test_feed__unchanged__is_not_sent_again(lived: Pages) -> None:
    for path in ("/feed.atom", f"/people/{SOLVERS[0]}/feed.atom"):
        etag = lived.get(path).headers["ETag"]
        assert lived.get(path, **{"If-None-Match": etag}).status_code == 304


def test_feed_of_nothing_is_empty() -> None:
    empty = Pages(Ledger())
    found = atom(empty, "/feed")
    assert (found.entries, found.feed.updated) == ([], "1970-01-01T00:00:00+00:00")
    assert empty.get("/bounties/1/feed.atom").status_code == 404
    assert empty.get("/people/nobody/feed.atom").status_code == 404


def test_feed__of_a_hostile_title__is_well_formed_text(pages: Pages) -> None:
    pages.ledger.add(page=page_of(title="]]><script>alert(1)</script>\u202e & <!--"))
    (entry,) = atom(pages, "/feed").entries
    assert entry.title_detail.type == "text/plain"
    assert entry.title == "New: ]]><script>alert(1)</script>[U+202E] & <!--"


def test_hostile_title_is_readable_in_feeds(pages: Pages) -> None:
    for title in HOSTILE.values():
        pages.ledger.add(page=page_of(title=title))
    shown = {readable_line(title) for title in HOSTILE.values()}
    assert {entry.title.partition(": ")[2] for entry in atom(pages, "/feed").entries} == shown
    for number, title in enumerate(HOSTILE.values(), 1):
        head = HTMLParser(namespaceHTMLElements=False).parse(pages.get(f"/bounties/{number}").data).find("head")
        preview = {meta.get("property"): meta.get("content") for meta in head.iter("meta")}
        assert preview["og:title"] == readable_line(title)
        assert head.findtext("title") == f"{readable_line(title)} – Bounty Escrow"
