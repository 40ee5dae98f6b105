"""What the list finds, what it answers to values that it cannot read, and what a wrong API makes of it."""

import re
from dataclasses import replace
from urllib.parse import quote

import pytest
from bounty_protocol.types import TokenAmount
from bounty_protocol.wire.cursor import BountySort, Cursor

from tests.pages.conftest import Pages, text_of
from tests.pages.ledger import ESCROW, GUARDIANS, NOW, POSTER, SOLVERS, account, hub_constants, page_of

DAY = 86_400
TOMORROW = "2027-01-16"  # the day after NOW


@pytest.fixture
def market(pages: Pages) -> Pages:
    """Three open bounties that differ in everything that can be looked for."""
    rich = pages.ledger.add(page=page_of(title="Rich"), escrow=TokenAmount(4 * ESCROW), deadline=NOW + 3 * DAY)
    rich.submitted = [SOLVERS[1]]
    pages.ledger.add(page=page_of(title="Soon", summary="A parser for dates."), deadline=NOW + 600)
    pages.ledger.add(page=page_of(title="Other"), poster=account("other poster"), deadline=NOW + DAY)
    return pages


def titles(pages: Pages, path: str) -> list[str]:
    """The titles that the list shows, in its order."""
    html = pages.get(path).get_data(as_text=True)
    return re.findall(r'<h3><a href="/bounties/[0-9]+"><bdi class="title">(.*?)</bdi>', html)


@pytest.mark.parametrize(
    ("query", "found"),
    [("", ["Other", "Soon", "Rich"]), ("sort=deadline", ["Soon", "Other", "Rich"]),
     ("sort=award", ["Rich", "Other", "Soon"]), ("search=parser+dates", ["Soon"]), ("search=nothing", []),
     ("min_award=24.1", ["Rich"]), ("max_award=24", ["Other", "Soon"]), ("min_award=96&max_award=96.000000", ["Rich"]),
     ("max_award=1,000.5", ["Other", "Soon", "Rich"]), (f"from={TOMORROW}", ["Other", "Rich"]),
     (f"until={TOMORROW}", ["Other", "Soon"]), (f"from={TOMORROW}&until={TOMORROW}", ["Other"]),
     (f"poster={POSTER}", ["Soon", "Rich"]), (f"solver={SOLVERS[1]}", ["Rich"]),
     (f"guardian={GUARDIANS[0]}", ["Other", "Soon", "Rich"]), (f"guardian={POSTER}", []),
     (f"poster={POSTER}&sort=award&min_award=1", ["Rich", "Soon"])],
)  # fmt: skip
def test_search_shows_what_is_found(market: Pages, query: str, found: list[str]) -> None:
    assert titles(market, f"/?{query}") == found
    count = "1 bounty" if len(found) == 1 else f"{len(found) or 'No'} bounties"
    assert count in market.text(f"/?{query}")


@pytest.mark.parametrize(
    ("day", "seconds", "is_found"),
    [("from=2027-01-16", 0, True), ("from=2027-01-16", -1, False), ("until=2027-01-15", -1, True),
     ("until=2027-01-15", 0, False)],
)  # fmt: skip
def test_deadline_belongs_to_its_own_day(pages: Pages, day: str, seconds: int, is_found: bool) -> None:
    pages.ledger.add(deadline=1_800_057_600 + seconds)  # 16 January 2027, 00:00 UTC
    assert titles(pages, f"/?{day}") == (["A fast parser"] if is_found else [])


@pytest.mark.parametrize(
    ("field", "text"),
    [("search", "x" * 201), ("search", "a\u202eb"), ("min_award", "x"), ("min_award", "-1"), ("min_award", "1e3"),
     ("min_award", "1.0000001"), ("max_award", "9" * 78), ("max_award", "٣"), ("from", "31.1.2030"),
     ("from", "2030-02-30"), ("until", "0000-01-01"), ("until", "20300101"), ("poster", "0x12"), ("solver", "alice"),
     ("guardian", POSTER[:-1] + "g"), ("search", "<script>" + "x" * 200)],
)  # fmt: skip
def test_bad_value_is_answered_beside_its_field(market: Pages, field: str, text: str) -> None:
    address = f"/?sort=award&{field}={quote(text)}"
    html = market.get(address).get_data(as_text=True)
    assert f'id="{field}-problem"' in html
    assert re.search(f'<input id="{field}"[^>]*aria-invalid="true" aria-describedby="{field}-problem"', html)
    assert "<script" not in html
    assert "Some values were not understood" in text_of(html)
    assert titles(market, address) == ["Rich", "Other", "Soon"]  # the rest of the address holds


@pytest.mark.parametrize(
    ("field", "query"),
    [("max_award", "min_award=3&max_award=2"), ("until", "from=2030-01-02&until=2030-01-01"), ("sort", "sort=best"),
     ("show", "show=nothing"), ("cursor", "cursor=x"),
     ("cursor", f"sort=award&cursor={Cursor(BountySort.NEWEST, 0, 3).to_text()}")],
)  # fmt: skip
def test_contradicting_values_are_a_notice(market: Pages, field: str, query: str) -> None:
    html = market.get(f"/?{query}").get_data(as_text=True)
    assert "Some values were not understood" in text_of(html)
    assert (f'id="{field}-problem"' in html) == (field not in {"show", "cursor"})
    assert "Some values were not understood" not in market.text("/?min_award=2&max_award=3&sort=award")


def test_empty_fields_lead_to_one_address(market: Pages) -> None:
    answer = market.get("/?show=open&search=&sort=award&min_award=1.5&poster=")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/?min_award=1.5&sort=award")
    assert market.get("/?search=&sort=").headers["Location"] == "/"


def test_long_list_goes_on_with_its_filters(pages: Pages) -> None:
    for _ in range(25):
        pages.ledger.add()
    html = pages.get("/?sort=award&min_award=1").get_data(as_text=True)
    assert "25 bounties" in text_of(html)
    assert "First page" not in text_of(html)
    (following,) = re.findall(r'<a rel="next" href="([^"]*)"', html)
    second = pages.get(following.replace("&amp;", "&")).get_data(as_text=True)
    assert second.count('class="card"') == 5
    assert "Next page" not in text_of(second)
    assert '<a rel="first" href="/?min_award=1&amp;sort=award"' in second


def test_title_of_an_unpublished_page_is_the_number(pages: Pages) -> None:
    pages.ledger.add(is_published=False)
    assert "Bounty 1, whose page cannot be shown" in pages.text("/")


@pytest.mark.parametrize("title", ["<script>alert(1)</script>", "\u202eevil", "W" * 190, "Раypal"])
def test_title__of_a_stranger__is_harmless(pages: Pages, title: str) -> None:
    pages.ledger.add(page=page_of(title=title, summary=title))
    answer = pages.get("/")
    assert b"<script" not in answer.data
    assert "\u202e" not in answer.get_data(as_text=True)


def test_absurd_decimals_cost_nothing(pages: Pages) -> None:
    pages.ledger.add()
    hub = hub_constants()
    pages.constants["hub"] = replace(hub, token=replace(hub.token, decimals=900_000_000))
    assert titles(pages, "/?min_award=25&max_award=25000000") == ["A fast parser"]
    assert "Some values were not understood" not in pages.text("/?min_award=25&max_award=25000000")
