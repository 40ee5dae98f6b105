"""A reader's filters of the list: the fields of its form, which are the query of its address.

Each value is read once, here, into the query of the list. What cannot be read is shown beside its field and left out.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

from bounty_protocol.domain.challenge.readable import readable_line
from bounty_protocol.domain.challenge.tags import parse_tag
from bounty_protocol.domain.lifecycle.states import BountyStatus
from bounty_protocol.types import MAX_UINT256, parse_address
from bounty_protocol.wire.bounties import BountyQuery
from bounty_protocol.wire.cursor import BountySort, parse_cursor
from bounty_protocol.wire.deployment import TokenDescription
from bounty_protocol.wire.values import MAX_SEARCH, PageCursor

T = TypeVar("T", bound=StrEnum)
PAGE_LENGTH: Final = 20
_DAY: Final = 86_400
_MOST_SHOWN: Final = 300
"""Letters of a value that are shown again; each field takes fewer."""


class Filter(StrEnum):
    """Which bounties the list shows."""

    OPEN = "open"
    JUDGING = "judging"
    DECIDED = "decided"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Shown:
    """The bounties of a filter: their name alone and inside a sentence, and the query for them."""

    label: str
    inside: str
    query: Mapping[str, Any]


FILTERS: Final = {
    Filter.OPEN: Shown("Open for work", "open for work", {"accepting": True}),
    Filter.JUDGING: Shown("Being judged", "being judged", {"status": BountyStatus.OPEN, "accepting": False}),
    Filter.DECIDED: Shown("Decided", "decided", {"status": BountyStatus.FINAL}),
    Filter.ALL: Shown("All", "all", {}),
}
SORTS: Final = {
    BountySort.NEWEST: "Newest first",
    BountySort.DEADLINE: "Earliest deadline first",
    BountySort.AWARD: "Highest award first",
}
ACCOUNTS: Final = {"poster": "Poster", "solver": "Solver", "guardian": "Guardian"}
FIELDS: Final = ("search", "tag", "min_award", "max_award", "from", "until", *ACCOUNTS)
PARAMETERS: Final = frozenset({"show", "sort", "cursor", *FIELDS})
_EVERYTHING: Final = BountyQuery(limit=PAGE_LENGTH)


@dataclass(frozen=True, slots=True)
class Search:
    """One state of the form. ``texts`` are the values as they were typed, ``problems`` those that cannot be read.

    ``query`` finds the bounties; it lacks the values that cannot be read.
    """

    chosen: Filter
    sort: BountySort
    cursor: str | None
    """Where in the list a page begins; None for the first one."""
    texts: Mapping[str, str]
    problems: Mapping[str, str]
    query: BountyQuery = _EVERYTHING

    def address(self, chosen: Filter | None = None, cursor: str | None = None) -> str:
        """Return the canonical address of this state, or of the same state with other bounties or another page."""
        shown = chosen or self.chosen
        values = {} if shown is Filter.OPEN else {"show": shown.value}
        values |= {name: self.texts[name] for name in FIELDS if name in self.texts}
        values |= {} if self.sort is BountySort.NEWEST else {"sort": self.sort.value}
        values |= {} if cursor is None else {"cursor": cursor}
        return f"/?{urlencode(values)}" if values else "/"

    def cleared(self) -> str:
        """Return the address without the fields."""
        return Search(self.chosen, self.sort, None, {}, {}).address()


def read_search(values: Mapping[str, str], token: TokenDescription) -> Search:
    """Read the state that a query of the list's address names."""
    texts = {name: text[:_MOST_SHOWN] for name in FIELDS if (text := values.get(name, "").strip())}
    problems: dict[str, str] = {}
    chosen = _chosen(Filter, values.get("show"), Filter.OPEN, "show", problems)
    sort = _chosen(BountySort, values.get("sort"), BountySort.NEWEST, "sort", problems)
    read: dict[str, int | str] = {}
    for name, text in texts.items():
        reader, problem = _READERS[name]
        try:
            read[name] = reader(text, token)
        except ValueError:
            problems[name] = problem.format(text=readable_line(text[:50]))
    problems |= {
        upper: problem
        for lower, upper, problem in _RANGES
        if lower in read and upper in read and int(read[lower]) > int(read[upper])
    }
    cursor, place = values.get("cursor") or None, None
    if cursor is not None:
        try:
            place = PageCursor(parse_cursor(cursor))
        except ValueError:
            place = None
        if place is None or place.sort is not sort:
            problems["cursor"] = "This address is not the next page of the list. The list is shown from its first page."
            cursor = place = None
    query = replace(_EVERYTHING, **FILTERS[chosen].query, **_asked(read), sort=sort, cursor=place)
    return Search(chosen, sort, cursor, texts, problems, query)


def _chosen(kind: type[T], text: str | None, usual: T, name: str, problems: dict[str, str]) -> T:
    try:
        return kind(text or usual)
    except ValueError:
        problems[name] = f"“{readable_line((text or '')[:40])}” is not one of {', '.join(kind)}."
        return usual


def _asked(read: Mapping[str, int | str]) -> dict[str, Any]:
    """Return the names and units of the query. Days are whole: the query's bounds themselves are excluded."""
    found: dict[str, Any] = {f"{name}_address" if name in ACCOUNTS else name: value for name, value in read.items()}
    if "from" in read:
        found["deadline_after"] = max(0, found.pop("from") - 1)
    if "until" in read:
        found["deadline_before"] = found.pop("until") + _DAY
    return found


def _search(text: str, _: TokenDescription) -> str:
    if len(text) > MAX_SEARCH or not text.isprintable():
        raise ValueError
    return text


def _award(text: str, token: TokenDescription) -> int:
    decimals = token.decimals if 0 < token.decimals <= 77 else 0
    plain = text.replace(",", "") if re.fullmatch(r"[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?", text) else text
    found = re.fullmatch(r"([0-9]{1,78})(?:\.([0-9]{1,77}))?", plain)
    part = "" if found is None else (found[2] or "").rstrip("0")
    amount = None if found is None else int(found[1] + part.ljust(decimals, "0"))
    if amount is None or len(part) > decimals or amount > MAX_UINT256:
        raise ValueError
    return amount


def _date(text: str, _: TokenDescription) -> int:
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) is None:
        raise ValueError
    return max(0, int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()))


Reader = tuple[Callable[[str, TokenDescription], int | str], str]
_AN_AWARD: Final[Reader] = (_award, "“{text}” is not an amount. Write it like 25 or 1200.5.")
_A_DATE: Final[Reader] = (_date, "“{text}” is not a date. Write it like 2030-01-31.")
_AN_ACCOUNT: Final[Reader] = (
    lambda text, _: parse_address(text),
    "“{text}” is not an address: 0x and 40 hexadecimal digits, exactly as copied (EIP-55).",
)
_READERS: Final[Mapping[str, Reader]] = {
    "search": (_search, f"Search for at most {MAX_SEARCH} characters, without line breaks or control characters."),
    "tag": (
        lambda text, _: parse_tag(text.lower()),
        "“{text}” is not a tag: letters a-z, digits and hyphens.",
    ),
    "min_award": _AN_AWARD,
    "max_award": _AN_AWARD,
    "from": _A_DATE,
    "until": _A_DATE,
    "poster": _AN_ACCOUNT,
    "solver": _AN_ACCOUNT,
    "guardian": _AN_ACCOUNT,
}
"""How each field is read, and what is said of a text that it cannot be."""
_RANGES: Final = (
    ("min_award", "max_award", "The highest award is lower than the lowest one."),
    ("from", "until", "The last day is before the first one."),
)
