"""What was found: one difference is one requirement that does not hold in one place."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from service_audit.http import MALFORMED, Unread
from service_audit.rules import Breach

REQUIREMENTS: Final = (
    "chain.events", "chain.terms", "chain.outcome", "money.split", "money.claims", "money.transfers",
    "money.conservation", "hub.views", "api.deployment", "api.hub", "api.index", "bounty.facts", "bounty.roster",
    "bounty.submissions", "bounty.block", "bounty.challenge", "bounty.verdict", "bounty.record", "delivery.status",
    "list.items", "list.filters", "list.order", "list.total", "list.title", "account.record", "graphql.rows",
    "changes.log", "changes.order", "status.totals", "status.position", "pages.challenge", "pages.facts",
    "liveness.index", "liveness.settled", "read",
)  # fmt: skip
"""Every requirement that a difference may name (docs/audit.md)."""
NOT_COMPARED: Final = {
    "bounty.challenge": "the API shows no page of these bounties",
    "bounty.verdict": "the API shows no document of these Verdicts",
    "pages.challenge": "the pages show no text of these bounties",
    "graphql.rows": "a list has more rows than pages of a query reach",
}
"""Why a place of a requirement may be passed over; it is counted."""
MAX_FOUND: Final = 100
"""Differences of one requirement that are listed; the others are counted."""
MAX_SHOWN: Final = 300
"""Characters of a value that is shown: an answer of a stranger may be long."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What was expected by the chain and the documents, and what was seen instead."""

    requirement: str
    where: str
    expected: str
    seen: str


@dataclass(slots=True)
class Report:
    """The differences so far, and how many comparisons were made of each requirement."""

    found: list[Difference] = field(default_factory=list)
    compared: Counter[str] = field(default_factory=Counter)
    more: Counter[str] = field(default_factory=Counter)
    """How many differences of a requirement are not listed."""
    passed_over: dict[str, set[str]] = field(default_factory=dict)
    """The places of a requirement at which there was nothing to compare."""

    def same(self, requirement: str, where: str, expected: object, seen: object) -> bool:
        """Compare two values; another type is another value."""
        self.compared[requirement] += 1
        if alike(expected, seen):
            return True
        self.add(requirement, where, expected, seen)
        return False

    def holds(self, requirement: str, where: str, expected: str, holds: bool, seen: object) -> bool:
        """Note one condition, of which ``expected`` is the text."""
        self.compared[requirement] += 1
        if not holds:
            self._append(Difference(requirement, shown(where), expected, shown(seen)))
        return holds

    def add(self, requirement: str, where: str, expected: object, seen: object) -> None:
        """Report a difference."""
        self._append(Difference(requirement, shown(where), shown(expected), shown(seen)))

    def take_breaches(self, breaches: Iterable[Breach], compared: Counter[str] | None = None) -> None:
        """Report what the log breaks."""
        for each in breaches:
            self.add(each.requirement, each.where, each.expected, each.seen)
        self.compared.update(compared or {})

    def pass_over(self, requirement: str, where: str) -> None:
        """Note a place that could not be compared, and need not be."""
        self.passed_over.setdefault(requirement, set()).add(shown(where))

    def take(self, other: "Report") -> None:
        """Add what another part found."""
        for found in other.found:
            self._append(found)
        self.compared.update(other.compared)
        self.more.update(other.more)
        for name, places in other.passed_over.items():
            self.passed_over.setdefault(name, set()).update(places)

    def _append(self, found: Difference) -> None:
        if found.requirement not in REQUIREMENTS:
            raise KeyError(found.requirement)
        if found in self.found:
            return
        if sum(each.requirement == found.requirement for each in self.found) < MAX_FOUND:
            self.found.append(found)
        else:
            self.more[found.requirement] += 1

    @contextmanager
    def reading(self, requirement: str, where: str) -> Iterator[None]:
        """Let what goes wrong end this part alone.

        An answer of another shape than documented is a difference. One that cannot be had, or meets a mistake of this
        program, leaves the part unread: nothing is known of it.
        """
        try:
            yield
        except Unread as error:
            self.add("read", where, "an answer", str(error))
        except MALFORMED as error:
            self.add(requirement, where, "an answer of the documented shape", f"{type(error).__name__}: {error}")
        except Exception as error:  # noqa: BLE001 - a hostile answer neither ends a watch nor hides a finding
            self.add("read", where, "an end of its comparison", f"{type(error).__name__}: {error}")

    @property
    def count(self) -> int:
        """How many differences and unread parts there are, listed or not."""
        return len(self.found) + sum(self.more.values())

    @property
    def unread(self) -> int:
        """How many parts could not be read."""
        return sum(found.requirement == "read" for found in self.found) + self.more["read"]

    def leaves_open(self, found: Difference) -> bool:
        """Return whether a difference of an earlier look may still be there, because this one did not see its place."""
        return (
            self.unread > 0
            or self.more[found.requirement] > 0
            or found.where in self.passed_over.get(found.requirement, ())
        )

    def exit_code(self) -> int:
        """Return 0 for no difference, 1 for one, 2 if something could not be read and nothing else differs."""
        if self.count > self.unread:
            return 1
        return 2 if self.unread else 0


def shown(value: object) -> str:
    """Return a value on one line, without what a terminal would obey."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    text = "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}… ({len(text)} characters)"


def alike(expected: object, seen: object) -> bool:
    """Return whether two values are equal as JSON: true is not 1, and 1 is not 1.0."""
    if isinstance(expected, dict) and isinstance(seen, dict):
        return expected.keys() == seen.keys() and all(alike(value, seen[name]) for name, value in expected.items())
    if isinstance(expected, list) and isinstance(seen, list):
        return len(expected) == len(seen) and all(map(alike, expected, seen))
    return type(expected) is type(seen) and expected == seen
