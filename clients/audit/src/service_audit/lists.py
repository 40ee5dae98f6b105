"""The bounty list: every bounty once with its facts, in each order, and by each filter."""

from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import urlencode

from service_audit.answers import AnswerCheck
from service_audit.chain import Moment
from service_audit.expected import block_of, facts
from service_audit.rules import Bounty, award_of

FIRST_PAGES: Final = 20
"""Items that are read two at a time, so that cursors are tried on short lists, too."""
MAX_COUNTED: Final = 1_000
"""Matches of a filter that the list counts."""
MAX_SURPLUS: Final = 100
"""Items beyond twice the bounties of the chain after which a list is read no further: each page is a request."""
ATTEMPTS: Final = 5
"""How often a selection is read while the index moves on between its pages."""
MATCHES: Final[dict[str, Callable[[Bounty, int, str], bool]]] = {
    "status": lambda bounty, _, value: (bounty.ending is None) == (value == "open"),
    "accepting": lambda bounty, time, value: bounty.accepting(time) == (value == "true"),
    "judgeable": lambda bounty, time, value: bounty.judgeable(time) == (value == "true"),
    "poster_address": lambda bounty, _, value: bounty.poster == value,
    "solver_address": lambda bounty, _, value: value in bounty.submissions,
    "guardian_address": lambda bounty, _, value: value in bounty.roster.accounts,
    "min_award": lambda bounty, _, value: award_of(bounty) >= int(value),
    "max_award": lambda bounty, _, value: award_of(bounty) <= int(value),
}
"""What each filter chooses at a time."""


def check_list(reading: AnswerCheck) -> None:
    """Compare every item, and the order and count of the whole."""
    items, _ = _pages(reading, {})
    for item, moments in items:
        number, where = int(item["bounty_id"]), f"/api/bounties item {item['bounty_id']}"
        own = [moment for moment in moments if number in moment.world.bounties]
        if reading.report.holds("list.items", where, "a bounty of the chain", bool(own), number):
            _check_item(reading, where, own, number, item)
            reading.position.titles[number] = item.get("title")
    _check_selection(reading, {"sort": "newest"})


def check_selections(reading: AnswerCheck) -> None:
    """Compare what each order and each filter gives."""
    for order in ("deadline", "award"):
        _check_selection(reading, {"sort": order})
    world = reading.chain.world_at(reading.chain.head.number)
    for name, value in _filters(list(world.bounties.values())):
        _check_selection(reading, {name: value})


def _check_item(reading: AnswerCheck, where: str, moments: list[Moment], number: int, item: Any) -> None:
    def at(moment: Moment) -> Bounty:
        return moment.world.bounties[number]

    reading.fields("list.items", f"{where} facts", moments, lambda m: facts(at(m), m.block.time), item["facts"])
    reading.value(
        "list.items", f"{where} active_submission_count", moments,
        lambda m: len(at(m).submissions), item["active_submission_count"],
    )  # fmt: skip
    reading.value("bounty.block", f"{where} block", moments, lambda m: block_of(at(m)), item["block"])
    reading.finality(where, int(item["block"]["number"]), item["finality"])


def _pages(reading: AnswerCheck, query: dict[str, str]) -> tuple[list[tuple[Any, list[Moment]]], object]:
    """Return the items of all pages, each with the moments of its page, and the count that the last page states."""
    found, cursor = list[tuple[Any, list[Moment]]](), None
    begin = reading.api.received
    while True:
        limit = "2" if len(found) < FIRST_PAGES else "100"
        page = {**query, "limit": limit, **({"cursor": cursor} if cursor else {})}
        value, moments = reading.get(f"/api/bounties?{urlencode(page)}")
        reading.api.bound_list(begin)
        found += [(item, moments) for item in value["items"]]
        cursor = value["next_cursor"]
        if cursor is None:
            return found, value["total_count"]
        if not value["items"]:
            raise ValueError("a page without items that is not the last one")
        if len(found) > MAX_SURPLUS + 2 * max((len(moment.world.bounties) for moment in moments), default=0):
            raise ValueError("a list of more than twice the bounties of the chain")


def _check_selection(reading: AnswerCheck, query: dict[str, str]) -> None:
    """Compare the ids of all pages with those that the chain gives, in their order."""
    requirement = "list.order" if "sort" in query else "list.filters"
    where = f"/api/bounties?{urlencode(query)}"
    for _ in range(ATTEMPTS):
        items, stated = _pages(reading, query)
        shown = [int(item["bounty_id"]) for item, _ in items]
        found = [moment for _, each in items for moment in each] or reading.get(f"{where}&limit=1")[1]
        moments = list({moment.block.number: moment for moment in found}.values())
        if any(shown == _selected(moment, query, shown) for moment in moments):
            break
    reading.value(requirement, where, moments, lambda m: _selected(m, query, shown), shown)
    if stated is not None or len(shown) <= MAX_COUNTED:
        reading.value(
            "list.total", f"{where} total_count", moments,
            lambda m: len(_selected(m, query, shown)), stated,
        )  # fmt: skip


def _selected(moment: Moment, query: dict[str, str], shown: list[int]) -> list[int]:
    """Return the ids in an order; among equal deadlines or awards, which nothing orders, as they are shown."""
    filters = [(MATCHES[name], value) for name, value in query.items() if name in MATCHES]
    found = [
        bounty
        for bounty in moment.world.bounties.values()
        if all(matches(bounty, moment.block.time, value) for matches, value in filters)
    ]
    order = query.get("sort")
    places = {number: place for place, number in enumerate(shown)}

    def key(bounty: Bounty) -> tuple[int, int]:
        place = places.get(bounty.id, len(places))
        if order == "deadline":
            return bounty.amount("submission_deadline"), place
        return (-award_of(bounty), place) if order == "award" else (int(bounty.ending is not None), -bounty.id)

    return [bounty.id for bounty in sorted(found, key=key)]


def _filters(bounties: list[Bounty]) -> Iterator[tuple[str, str]]:
    """Yield each filter, at values that the chain has and one beside them."""
    yield from (("status", value) for value in ("open", "final"))
    yield from ((name, value) for name in ("accepting", "judgeable") for value in ("true", "false"))
    accounts = {
        "poster_address": {bounty.poster for bounty in bounties},
        "solver_address": {solver for bounty in bounties for solver in bounty.submissions},
        "guardian_address": {member for bounty in bounties for member in bounty.roster.accounts},
    }
    yield from ((name, each) for name, found in accounts.items() for each in sorted(found)[:3])
    awards = sorted({award_of(bounty) for bounty in bounties})
    for amount in {*awards[-2:], *(award + 1 for award in awards[-1:])}:
        yield from ((name, str(amount)) for name in ("min_award", "max_award"))
