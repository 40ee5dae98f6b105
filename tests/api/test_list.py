"""The bounty list: words, filters, orders, counts, and where the next page is."""

import json
import re
import secrets
from typing import Any
from urllib.parse import quote

import pytest
from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.types import BountyId
from service_api.publishing.stored_pages import store_page

from tests.api.conftest import Service
from tests.api.pages import JUDGING, page_for
from tests.titles import HOSTILE, quoted
from tests.world import ESCROW


def listed(service: Service, query: str = "") -> dict[str, Any]:
    response = service.get(f"/api/bounties?{query}")
    assert response.status_code == 200, response.text
    page: dict[str, Any] = response.get_json()
    return page


def ids(service: Service, query: str) -> list[str]:
    return [item["bounty_id"] for item in listed(service, query)["items"]]


def published(service: Service, title: str, *, seconds: int = 1_000, escrow: int = ESCROW, **lines: str) -> BountyId:
    """A bounty in a final block, on a page that is kept as a publication leaves it."""
    bounty_id = created(service, title, seconds=seconds, escrow=escrow, **lines)
    service.world.finalize()
    return bounty_id


def created(service: Service, title: str, *, seconds: int = 1_000, escrow: int = ESCROW, **lines: str) -> BountyId:
    """The same in the newest block."""
    world = service.world
    page = page_for(world, title=title, deadline=world.time() + seconds, escrow_amount=str(escrow), **lines)
    store_page(service.resources.engine, spec_commitment(page), page, parse_challenge(page))
    return world.fund(page, seconds=seconds, judging=JUDGING, escrow=escrow)


@pytest.fixture
def word() -> str:
    """A word that no other test's pages have."""
    return f"w{secrets.token_hex(6)}"


def test_items_have_title_and_summary(service: Service) -> None:
    world = service.world
    shown, unknown = published(service, "Tile set, halved"), world.fund()
    world.finalize()
    found = {item["bounty_id"]: item for item in listed(service, "limit=2")["items"]}
    assert found[str(shown)]["title"] == "Tile set, halved"
    assert found[str(shown)]["summary"]
    assert (found[str(unknown)]["title"], found[str(unknown)]["summary"]) == (None, None)
    assert ids(service, "limit=2&search=%25") == [*found]  # of a search for nothing all are found


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("hinge", True), ("HINGE", True), ("printable hinge", True), ("hinge printable", True), ("hinges", False),
        ("hing", True), ("ntab", True), ("print hin", True), ("hinge,", True), ("(hinge)", True), ("a", True),
        ("le", False),
        ('"printable hinge"', True), ('"hinge printable"', False), ("hinge -printable", False), ("hinge -zebra", True),
        ("hinge zebra", False), ('"able hin"', True), ('-"able hin"', False), ("ＨＩＮＧＥ", True),
        ("'); DROP TABLE app.challenge_pages; --", False), ("%", True), ("hinge & | !", True), (":*", True),
    ],
)  # fmt: skip
def test_search__in_titles_and_summaries__finds_words(service: Service, word: str, search: str, found: bool) -> None:
    bounty_id = published(service, f"A printable hinge {word}")
    expected = [str(bounty_id)] if found else []
    assert ids(service, f"search={quote(f'{word} {search}')}") == expected


@pytest.mark.parametrize(
    ("title", "search", "found"),
    [
        ("住所を正規化する", "住所", True), ("住所を正規化する", "正規", True), ("住所を正規化する", "所住", False),
        ("住所を正規化する", "住所 正規化", True), ("ค้นหาที่อยู่", "ที่อยู่", True),
        ("주소 정규화", "주소", True), ("주소 정규화", "규화", True),
        ("Straße und Maß", "strasse", True), ("STRASSE", "straße", True), ("Café", "cafe\u0301", True),
        ("Ένας αναλυτής", "ΑΝΑΛΥΤΉΣ", True), ("Разбор адресов", "адрес", True), ("Разбор адресов", "адресок", False),
        ("مدقق العناوين", "عنا", True), ("A parser of CSV", "parse", True), ("Parsing", "parser", False),
    ],
)  # fmt: skip
def test_search__in_any_script__finds_parts_of_words(
    service: Service, word: str, title: str, search: str, found: bool
) -> None:
    bounty_id = published(service, f"{title} {word}")
    assert ids(service, f"search={quote(f'{search} {word}')}") == ([str(bounty_id)] if found else [])


@pytest.mark.parametrize("search", ["", "x" * 201, "a\x00b", "a\nb"])
def test_bad_search_is_refused(service: Service, search: str) -> None:
    response = service.get(f"/api/bounties?search={quote(search)}")
    assert response.status_code == 400
    assert response.get_json()["error"]["issues"][0]["path"] == "search"


def test_filters_hold_at_their_bounds(service: Service, word: str) -> None:
    world, search = service.world, f"&search={word}"
    small = published(service, f"Small {word}", escrow=10_000_000)
    large = published(service, f"Large {word}", seconds=5_000)
    item = next(each for each in listed(service, search)["items"] if each["bounty_id"] == str(small))
    facts = item["facts"]
    award = int(facts["escrow_amount"]) - int(facts["protocol_fee"]) - int(facts["guardian_fee"])
    assert ids(service, f"max_award={award}{search}") == [str(small)]
    assert ids(service, f"max_award={award - 1}{search}") == []
    assert ids(service, f"min_award={award + 1}{search}") == [str(large)]
    deadline = facts["submission_deadline"]
    assert ids(service, f"deadline_after={deadline}{search}") == [str(large)]
    assert ids(service, f"deadline_before={deadline + 1}{search}") == [str(small)]
    assert ids(service, f"min_award={award}&deadline_before={deadline}{search}") == []
    assert world.time() < deadline
    for wrong in (
        "min_award=-1",
        "max_award=1.5",
        f"min_award={2**256}",
        "deadline_after=soon",
        f"deadline_before={2**63}",
    ):
        assert service.get(f"/api/bounties?{wrong}").status_code == 400


def test_orders_show_each_bounty_once(service: Service, word: str) -> None:
    made = [published(service, f"Number {n} {word}", seconds=s, escrow=e) for n, (s, e) in enumerate(
        [(900, 11_000_000), (3_000, 12_000_000), (1_500, 12_000_000), (3_000, 30_000_000)]
    )]  # fmt: skip
    a, b, c, d = map(str, made)
    for sort, expected in (("newest", [d, c, b, a]), ("deadline", [a, c, b, d]), ("award", [d, c, b, a])):
        seen, address = [], f"/api/bounties?sort={sort}&limit=1&search={word}"
        while True:
            response = service.get(address)
            page = response.json
            assert page is not None
            assert page["total_count"] == 4
            seen += [item["bounty_id"] for item in page["items"]]
            if page["next_cursor"] is None:
                assert "Link" not in response.headers
                break
            found = re.fullmatch(r'<(/api/bounties\?.*)>; rel="next"', response.headers["Link"])
            assert found is not None
            assert f"cursor={page['next_cursor']}" in found[1]
            address = found[1]
        assert seen == expected, sort


def test_cursor__of_another_order__is_refused(service: Service) -> None:
    for _ in range(2):
        published(service, "One")
    cursor = listed(service, "sort=award&limit=1")["next_cursor"]
    response = service.get(f"/api/bounties?cursor={cursor}")
    assert response.status_code == 400
    assert response.get_json()["error"]["issues"][0]["path"] == "cursor"


def test_count_is_over_all_pages(service: Service, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = service.world

    def counts() -> list[int]:
        return [listed(service, f"limit=1&{query}")["total_count"] for query in ("", "status=open", "status=final")]

    before = counts()
    made = [published(service, f"Counted {word} {number}") for number in range(3)]
    world.advance_to(world.time() + 2_000)
    world.contract.transact(world.people.poster.wallet, "settle", made[0])
    world.finalize()
    assert [now - then for now, then in zip(counts(), before, strict=True)] == [3, 2, 1]
    assert listed(service, f"limit=1&search={word}")["total_count"] == 3
    assert listed(service, f"limit=1&search={word}&accepting=true")["total_count"] == 0
    monkeypatch.setattr("service_api.bounties.list_bounties.MAX_COUNTED", 2)
    for of_all in ("", "&sort=award", "&limit=1&sort=deadline"):
        assert listed(service, f"search={word}{of_all}")["total_count"] is None
    assert [listed(service, f"search={word}&status={each}")["total_count"] for each in ("open", "final")] == [2, 1]
    found = [int(item["bounty_id"]) for item in listed(service, f"search={word}")["items"]]
    assert found == [made[2], made[1], made[0]]


def test_hostile_title_is_data_and_in_no_message(service: Service) -> None:
    hostile = [HOSTILE[name].strip() for name in ("Thai marks", "right to left", "blank letters", "tags")]
    titles = [*hostile, 'x"}]}</script><script>alert(1)</script>\u2028&\u0085']
    for title in titles:
        shown = published(service, quoted(title))
        query = f'{{ bounty(id: "{shown}") {{ title }} }}'
        graphql = service.client.post("/subgraph", json={"query": query})
        rest = service.client.get("/api/bounties?limit=1")
        assert graphql.get_json()["data"]["bounty"]["title"] == rest.get_json()["items"][0]["title"] == title
        for answer in (graphql, rest):
            assert answer.headers["Content-Type"] == "application/json"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
        facts = service.client.get("/api/changes").get_data(as_text=True)
        assert not any(part in facts for part in (title, json.dumps(title)[1:-1]))


def test_tag__of_a_page__filters_the_list_and_is_shown(service: Service, word: str) -> None:
    tagged = published(service, f"One {word}", language=f"en\ntags: [{word}, csv]")
    published(service, f"Another {word}", language="en\ntags: [csv]")
    (item,) = listed(service, f"tag={word}")["items"]
    assert (item["bounty_id"], item["tags"]) == (str(tagged), [word, "csv"])
    assert ids(service, f"tag=csv&search={word}&min_award=1") == [str(tagged + 1), str(tagged)]
    assert ids(service, f"tag=x{word}") == []
    assert service.get("/api/bounties?tag=No+Tag").status_code == 400
    query = f'{{ bounties(where: {{tags_contains: ["csv", "{word}"]}}) {{ bounty_id tags }} }}'
    answer = service.client.post("/subgraph", json={"query": query}).json
    assert answer == {"data": {"bounties": [{"bounty_id": str(tagged), "tags": [word, "csv"]}]}}
    for wrong in ('{ bounties(where: {tags: ["a"]}) { id } }', "{ bounties(orderBy: tags) { id } }"):
        assert service.client.post("/subgraph", json={"query": wrong}).status_code == 400
