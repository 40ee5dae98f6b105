"""What the checker found: one difference is one requirement that does not hold in one place."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Final

from service_checker.asking import MALFORMED, Unread

REQUIREMENTS: Final = {
    "chain.events": "Each event of the Hub is one that docs/hub.md names, and is possible where it happened",
    "chain.terms": "A bounty pins the roster, fees and times that its Hub had at its creation",
    "chain.outcome": "A bounty ends as its quorum or its times say",
    "money.split": "What a bounty ends with is what the table of docs/hub.md gives to each party",
    "money.claims": "Each party is paid its own part, and once",
    "money.transfers": "Tokens move into the Hub by creations and out of it by claims alone",
    "money.conservation": "The Hub holds what it owes, to the base unit, after each finalized block",
    "hub.views": "The Hub's views show what its events come to",
    "api.deployment": "The facts of the deployment are its chain's",
    "api.hub": "Each answer names its Hub in X-Hub",
    "api.index": "Each answer is of a block of the chain, and that block is recent",
    "bounty.facts": "A bounty's detail has the facts of the chain",
    "bounty.roster": "A bounty's roster is the one that it pins",
    "bounty.submissions": "A bounty's active Submissions are each Solver's latest one",
    "bounty.block": "An item names the block that last changed it, and whether that is final",
    "bounty.challenge": "A challenge page hashes to its commitment",
    "bounty.verdict": "A written Verdict hashes to its commitment",
    "delivery.status": "No key is held of a Submission that nobody recorded",
    "bounty.record": "A VerificationRecord is there once its bounty is final, and is what the chain gives",
    "list.items": "Each bounty is in the list once, with the facts of the chain",
    "list.filters": "A filter of the list chooses what its name says, and nothing else",
    "list.order": "The list has the order that it was asked for",
    "list.total": "The list states how many bounties match on all pages",
    "list.title": "The title in the list is the one of the page",
    "account.record": "An account's record names the bounties in which it took part",
    "graphql.rows": "GraphQL has the rows of the chain, with their values",
    "graphql.filters": "A filter of GraphQL chooses what its name says, and nothing else",
    "graphql.order": "GraphQL has the order and the part of its rows that it was asked for",
    "changes.log": "The changes, with what was retracted taken back, are the Hub's log",
    "changes.order": "Changes are in the order of the chain, and their numbers count up",
    "status.totals": "The totals of the status are the sums over all bounties",
    "status.position": "The position of the status is a block of the chain",
    "pages.challenge": "The page's bytes as plain text hash to the commitment",
    "liveness.index": "The index is no more blocks behind the chain than the limit",
    "liveness.settled": "A bounty whose time is up is settled within the limit",
    "privacy.canary": "A secret that was planted is found in no file and no answer",
    "checked": "The checker could read what it needs",
}
"""Every requirement that a difference may name."""
SKIPPED: Final = {
    "money.conservation": "the node gave no balance after these blocks",
    "bounty.challenge": "the API shows no page of these bounties",
    "bounty.verdict": "the API shows no document of these Verdicts",
    "pages.challenge": "the pages show no text of these bounties",
    "graphql.rows": "a list has more rows than pages of a query reach",
}
"""Why a place of a requirement may be passed over; it is counted."""
MAX_FOUND: Final = 100
"""Differences of one requirement that are listed; the others are counted."""
MAX_CAUSES: Final = 10
"""Lines of what was not asked in one check; further ones are counted."""
MAX_NAMED: Final = 3
"""Parts that such a line names."""
MAX_SHOWN: Final = 300
"""Characters of a value that a line shows: an answer of anyone may be long."""


@dataclass(frozen=True, slots=True)
class FoundDifference:
    """A difference: what was expected by the chain and the documents, and what was seen instead."""

    requirement: str
    where: str
    expected: str
    seen: str


@dataclass(slots=True)
class CheckReport:
    """The differences so far, and how many comparisons were made of each requirement."""

    found: list[FoundDifference] = field(default_factory=list)
    compared: dict[str, int] = field(default_factory=dict)
    more: dict[str, int] = field(default_factory=dict)
    """How many differences of a requirement are not listed."""
    skipped: dict[str, set[str]] = field(default_factory=dict)
    """The places of a requirement at which there was nothing to compare."""

    def same(self, requirement: str, where: str, expected: object, seen: object) -> bool:
        """Compare two values; another type is another value."""
        self.compared[requirement] = self.compared.get(requirement, 0) + 1
        if alike(expected, seen):
            return True
        self.add(requirement, where, expected, seen)
        return False

    def holds(self, requirement: str, where: str, expected: str, holds: bool, seen: object) -> bool:
        """Note one condition, of which ``expected`` is the text."""
        self.compared[requirement] = self.compared.get(requirement, 0) + 1
        if not holds:
            self._append(FoundDifference(requirement, shown(where), expected, shown(seen)))
        return holds

    def add(self, requirement: str, where: str, expected: object, seen: object) -> None:
        """Report a difference."""
        self._append(FoundDifference(requirement, shown(where), shown(expected), shown(seen)))

    def skip(self, requirement: str, where: str) -> None:
        """Note a place that could not be compared, and need not be."""
        if requirement not in SKIPPED:
            raise KeyError(requirement)
        self.skipped.setdefault(requirement, set()).add(shown(where))

    def leaves_open(self, found: FoundDifference) -> bool:
        """Whether a difference of an earlier check may still be there: this one did not look at it."""
        return (
            self.unread
            or found.requirement in self.more  # it may be one of those that are not listed
            or found.where in self.skipped.get(found.requirement, ())
        )

    @property
    def count(self) -> int:
        """How many differences and parts that could not be read there are, listed or not."""
        return len(self.found) + sum(self.more.values())

    def _append(self, found: FoundDifference) -> None:
        if found.requirement not in REQUIREMENTS:
            raise KeyError(found.requirement)
        if found in self.found:
            return
        if sum(each.requirement == found.requirement for each in self.found) < MAX_FOUND:
            self.found.append(found)
        else:
            self.more[found.requirement] = self.more.get(found.requirement, 0) + 1

    def take(self, other: "CheckReport") -> None:
        """Add what another part found."""
        for found in other.found:
            self._append(found)
        for mine, counts in ((self.compared, other.compared), (self.more, other.more)):
            for name, count in counts.items():
                mine[name] = mine.get(name, 0) + count
        for name, places in other.skipped.items():
            self.skipped.setdefault(name, set()).update(places)

    @contextmanager
    def reading(self, requirement: str, where: str) -> Iterator[None]:
        """An answer that is of another shape than documented is a difference, and ends this part alone.

        So does one that could not be had, or not be held against the chain, or that meets a mistake of the checker's
        own: then nothing is known of this part.
        """
        try:
            yield
        except Unread as error:
            self.add("checked", where, "an answer", str(error))
        except MALFORMED as error:
            self.add(requirement, where, "an answer of the documented shape", f"{type(error).__name__}: {error}")
        except Exception as error:  # noqa: BLE001 - what a hostile answer brings about neither ends a watch nor hides a finding
            self.add("checked", where, "an end of its comparison", f"{type(error).__name__}: {error}")

    @property
    def unread(self) -> bool:
        """Whether something could not be checked."""
        return self.unread_count > 0

    @property
    def unread_count(self) -> int:
        """How many parts could not be checked, listed or not."""
        return sum(found.requirement == "checked" for found in self.found) + self.more.get("checked", 0)

    def exit_code(self) -> int:
        """0: no difference; 1: a difference; 2: something could not be read, and nothing else differs."""
        if any(found.requirement != "checked" for found in self.found):
            return 1
        return 2 if self.unread else 0

    def lines(self) -> Iterator[str]:
        """The report for people."""
        for found in self.found:
            if found.requirement != "checked":
                yield f"{found.requirement}  {found.where}: expected {found.expected}, seen {found.seen}"
        for line in unread_lines(self.found):
            yield f"checked  {line}"
        for name, count in sorted(self.more.items()):
            yield f"{name}  {count} further differences"
        for name, places in sorted(self.skipped.items()):
            yield f"{name}  {len(places)} not compared: {SKIPPED[name]}"
        total, unread = sum(self.compared.values()), self.unread_count
        text = f"{self.count - unread} differences in {total} comparisons of {len(self.compared)} requirements"
        yield f"{text}; {unread} parts could not be read" if unread else text

    def as_json(self) -> str:
        """The report for programs."""
        value = {
            "differences": [asdict(found) for found in self.found],
            "not_listed": dict(sorted(self.more.items())),
            "compared": dict(sorted(self.compared.items())),
            "not_compared": {name: len(places) for name, places in sorted(self.skipped.items())},
            "exit_code": self.exit_code(),
        }
        return json.dumps(value, indent=2)


def unread_lines(found: Iterable[FoundDifference]) -> Iterator[str]:
    """What could not be read: a line for each cause, with how many parts it cost and the first of them."""
    causes = dict[tuple[str, str], list[str]]()
    for each in found:
        if each.requirement == "checked":
            causes.setdefault((each.expected, each.seen), []).append(each.where)
    most = sorted(causes.items(), key=lambda item: -len(item[1]))  # of equal ones the first
    for (expected, seen), places in most[:MAX_CAUSES]:
        yield f"{named(places)}: expected {expected}, seen {seen}"
    if rest := sum(len(places) for _, places in most[MAX_CAUSES:]):
        yield f"{rest} further parts, each for a reason of its own: --json has them"


def named(places: Sequence[str]) -> str:
    """Many places on one line: how many, and the first of them."""
    if len(places) <= MAX_NAMED:
        return ", ".join(places)
    return f"{len(places)} parts: {', '.join(places[:MAX_NAMED])}, and {len(places) - MAX_NAMED} more"


def shown(value: object) -> str:
    """A value on one line, without what a terminal would obey."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    text = "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}… ({len(text)} characters)"


def alike(expected: object, seen: object) -> bool:
    """Equal as JSON: true is not 1, and 1 is not 1.0."""
    if isinstance(expected, dict) and isinstance(seen, dict):
        return expected.keys() == seen.keys() and all(alike(value, seen[name]) for name, value in expected.items())
    if isinstance(expected, list) and isinstance(seen, list):
        return len(expected) == len(seen) and all(map(alike, expected, seen))
    return type(expected) is type(seen) and expected == seen
