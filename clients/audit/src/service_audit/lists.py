"""The bounty list: every bounty once with its facts, in each order, and by each filter."""

from collections.abc import Callable, Iterable
from typing import Any, Final
from urllib.parse import urlencode

from service_audit.answers import AnswerCheck
from service_audit.chain import Moment
from service_audit.expected import Json, block_of, facts
from service_audit.http import Unread
from service_audit.rules import Bounty, award_of

MAX_PAGES: Final = 10_000
FIRST_PAGES: Final = 20
"""Items that are read two at a time, so that cursors are tried on short lists, too."""
MAX_COUNTED: Final = 1_000
"""Matches of a filter that the list counts."""
MAX_SURPLUS: Final = 100
"""Items beyond twice the bounties of the chain after which a list is read no further: each page is a request."""
ATTEMPTS: Final = 5
"""How often a selection is read while the index moves on between its pages."""
Wanted = Callable[[Bounty, int], bool]


def check_list(reading: AnswerCheck) -> None:
    """Compare every item, and the order and count of the whole."""
    items, _ = _pages(reading, {})
    for item, moments in items:
        number, where = int(item["bounty_id"]), f"/api/bounties item {item['bounty_id']}"
        own = [moment for moment in moments if number in moment.world.bounties]
        if reading.report.holds("list.items", where, "a bounty of the chain", bool(own), number):
            _check_item(reading, where, own, number, item)
            reading.position.titles[number] = item.get("title")
    _check_selection(reading, {"sort": "newest"}, lambda _bounty, _time: True)


def check_selections(reading: AnswerCheck) -> None:
    """Compare what each order and each filter gives."""
    for order in ("deadline", "award"):
        _check_selection(reading, {"sort": order}, lambda _bounty, _time: True)
    world = reading.chain.world_at(reading.chain.head.number)
    for query, wanted in _filters(list(world.bounties.values())):
        _check_selection(reading, query, wanted)


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


def _pages(reading: AnswerCheck, query: Json) -> tuple[list[tuple[Any, list[Moment]]], object]:
    """Return the items of all pages, each with the moments of its page, and the count that the last page states."""
    found, cursor, cursors = list[tuple[Any, list[Moment]]](), None, set[str]()
    begin = reading.api.received
    for _ in range(MAX_PAGES):
        limit = "2" if len(found) < FIRST_PAGES else "100"
        page = {**query, "limit": limit, **({"cursor": cursor} if cursor else {})}
        value, moments = reading.get(f"/api/bounties?{urlencode(page)}")
        reading.api.bound_list(begin)
        found += [(item, moments) for item in value["items"]]
        cursor = value["next_cursor"]
        if cursor is None:
            return found, value["total_count"]
        if cursor in cursors:
            raise ValueError("a cursor that leads back to itself")
        if not value["items"]:
            raise ValueError("a page without items that is not the last one")
        if len(found) > MAX_SURPLUS + 2 * max((len(moment.world.bounties) for moment in moments), default=0):
            raise ValueError("a list of more than twice the bounties of the chain")
        cursors.add(cursor)
    raise Unread("a list of bounties that does not end")


def _check_selection(reading: AnswerCheck, query: Json, wanted: Wanted) -> None:
    """Compare the ids of all pages with those that the chain gives, in their order."""
    requirement, order = "list.order" if "sort" in query else "list.filters", query.get("sort", "newest")
    where = f"/api/bounties?{urlencode(query)}"
    for _ in range(ATTEMPTS):
        items, stated = _pages(reading, query)
        shown = [int(item["bounty_id"]) for item, _ in items]
        found = [moment for _, each in items for moment in each] or reading.get(f"{where}&limit=1")[1]
        moments = list({moment.block.number: moment for moment in found}.values())
        if any(shown == _selected(moment, order, wanted, shown) for moment in moments):
            break
    reading.value(requirement, where, moments, lambda m: _selected(m, order, wanted, shown), shown)
    if stated is not None or len(shown) <= MAX_COUNTED:
        reading.value(
            "list.total", f"{where} total_count", moments,
            lambda m: len(_selected(m, order, wanted, shown)), stated,
        )  # fmt: skip


def _selected(moment: Moment, order: str, wanted: Wanted, shown: list[int]) -> list[int]:
    """Return the ids in an order; among equal deadlines or awards, which nothing orders, as they are shown."""
    found = [bounty for bounty in moment.world.bounties.values() if wanted(bounty, moment.block.time)]
    places = {number: place for place, number in enumerate(shown)}

    def key(bounty: Bounty) -> tuple[int, int]:
        place = places.get(bounty.id, len(places))
        if order == "deadline":
            return bounty.amount("submission_deadline"), place
        return (-award_of(bounty), place) if order == "award" else (int(bounty.ending is not None), -bounty.id)

    return [bounty.id for bounty in sorted(found, key=key)]


def _filters(bounties: list[Bounty]) -> list[tuple[Json, Wanted]]:
    """Return each filter, at values that the chain has and one beside them."""
    found: list[tuple[Json, Wanted]] = [
        ({"status": "open"}, lambda bounty, _: bounty.ending is None),
        ({"status": "final"}, lambda bounty, _: bounty.ending is not None),
        ({"accepting": "true"}, Bounty.accepting),
        ({"accepting": "false"}, lambda bounty, time: not bounty.accepting(time)),
        ({"judgeable": "true"}, Bounty.judgeable),
        ({"judgeable": "false"}, lambda bounty, time: not bounty.judgeable(time)),
    ]
    found += [({"poster_address": each}, _posted_by(each)) for each in _some(bounty.poster for bounty in bounties)]
    solvers = _some(solver for bounty in bounties for solver in bounty.submissions)
    found += [({"solver_address": each}, _submitted_by(each)) for each in solvers]
    guardians = _some(member for bounty in bounties for member in bounty.roster.accounts)
    found += [({"guardian_address": each}, _judged_by(each)) for each in guardians]
    awards = sorted({award_of(bounty) for bounty in bounties})
    for amount in {*awards[-2:], *(award + 1 for award in awards[-1:])}:
        found += [({"min_award": str(amount)}, _award(amount, None)), ({"max_award": str(amount)}, _award(0, amount))]
    return found


def _some(addresses: Iterable[str]) -> list[str]:
    return sorted(set(addresses))[:3]


def _posted_by(address: str) -> Wanted:
    return lambda bounty, _: bounty.poster == address


def _submitted_by(address: str) -> Wanted:
    return lambda bounty, _: address in bounty.submissions


def _judged_by(address: str) -> Wanted:
    return lambda bounty, _: address in bounty.roster.accounts


def _award(least: int, most: int | None) -> Wanted:
    return lambda bounty, _: least <= award_of(bounty) and (most is None or award_of(bounty) <= most)
