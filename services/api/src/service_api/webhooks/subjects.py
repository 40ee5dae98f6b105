"""The subject of a webhook, an account, a bounty, a filter, or all, and its changes of the index.

A delivery is a reading of the feed of changes. A webhook of finalized facts gets each fact once, when its block is
final; what was final is taken back by a rebuild alone, which found it wrong. One of unsafe facts gets each at once.
Both hear every retraction of what concerns them, however late they read it: a worker that was killed does not know what
a receiver has heard. Where an index counts anew, the place in the chain is what a delivery goes on from.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from bounty_protocol.shapes import to_json
from bounty_protocol.types import MAX_INT64, Address, BountyId
from bounty_protocol.wire.bounties import BountyFilter
from bounty_protocol.wire.changes import Change, ChangeEvent
from bounty_protocol.wire.reading import read
from bounty_protocol.wire.values import ChangeNumber
from service_common.db import hub_index as t
from sqlalchemy import Connection, literal, select, union_all

from service_api.matching import TERMS_AND_PAGE, matching

_ALL: Final = "all"
END_OF_BLOCK: Final = MAX_INT64
FILTERS_AT_ONCE: Final = 50
"""Filters of strangers in one statement."""
Place = tuple[int, int]
"""Block number and log index."""
Concerned = Collection[tuple[BountyId, Address | BountyFilter]]
"""Bounties with an account that takes part in them, or with a filter that they match."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a webhook; everything where none is set."""

    account: Address | None = None
    bounty_id: BountyId | None = None
    matching: BountyFilter | None = None

    def to_text(self) -> str:
        """As it is stored."""
        if self.account is not None:
            return f"account/{self.account}"
        if self.matching is not None:
            return f"matching/{json.dumps(to_json(self.matching), separators=(',', ':'), sort_keys=True)}"
        return _ALL if self.bounty_id is None else f"bounty/{self.bounty_id}"

    def hears(self, event: ChangeEvent, concerned: Concerned) -> bool:
        """Whether this event is about it."""
        if self.hears_of(event.bounty_id, concerned):
            return True
        if self.account is None:
            return False
        return any(value == self.account or _lists(value, self.account) for value in event.fields.values())

    def hears_of(self, bounty_id: BountyId | None, concerned: Concerned) -> bool:
        """Whether whatever happens to this bounty is about it."""
        if self.bounty_id is not None:
            return bounty_id == self.bounty_id
        followed = self.matching or self.account
        return followed is None or (bounty_id is not None and (bounty_id, followed) in concerned)


def parse_subject(text: str) -> Subject:
    """Read what is stored."""
    kind, _, value = text.partition("/")
    if kind == "account":
        return Subject(account=Address(value))
    if kind == "matching":
        return Subject(matching=read(BountyFilter, json.loads(value)))
    return Subject(bounty_id=BountyId(int(value))) if kind == "bounty" else Subject()


def concerned_by(
    connection: Connection,
    changes: Iterable[Change],
    subjects: Collection[Subject],
    more: Iterable[BountyId] = (),
) -> Concerned:
    """Which accounts take part in the bounties of these changes and in ``more``, and which filters those match."""
    named = {change.event.bounty_id for change in changes if change.event is not None}
    bounties = {number for number in (*named, *more) if number is not None}
    accounts = {subject.account for subject in subjects if subject.account is not None}
    filters = list({subject.matching for subject in subjects if subject.matching is not None})
    found: set[tuple[BountyId, Address | BountyFilter]] = set()
    if bounties and accounts:
        found |= _involved(connection, bounties, accounts)
    for start in range(0, len(filters) if bounties else 0, FILTERS_AT_ONCE):
        found |= _matched(connection, bounties, filters[start : start + FILTERS_AT_ONCE])
    return frozenset(found)


def _matched(
    connection: Connection, bounties: Collection[BountyId], filters: Sequence[BountyFilter]
) -> set[tuple[BountyId, BountyFilter]]:
    """Which of the filters match which of the bounties: one statement, which looks at these bounties alone."""
    number = t.bounties.c.bounty_id
    found = (
        select(number, literal(place)).select_from(TERMS_AND_PAGE).where(number.in_(bounties), *matching(each))
        for place, each in enumerate(filters)
    )
    return {(BountyId(row[0]), filters[row[1]]) for row in connection.execute(union_all(*found))}


def _involved(
    connection: Connection, bounties: Collection[BountyId], accounts: Collection[Address]
) -> set[tuple[BountyId, Address]]:
    """Who of them is in which bounty: as Poster, as Solver with a Submission, or as Guardian of the pinned roster."""
    b, s, m = t.bounties.c, t.submissions.c, t.roster_members.c
    found = (
        select(b.bounty_id, b.poster).where(b.bounty_id.in_(bounties), b.poster.in_(accounts)),
        select(s.bounty_id, s.solver).where(s.bounty_id.in_(bounties), s.solver.in_(accounts)).distinct(),
        select(b.bounty_id, m.guardian)
        .join(t.roster_members, m.version == b.roster_version)
        .where(b.bounty_id.in_(bounties), m.guardian.in_(accounts)),
    )
    return {(BountyId(row[0]), Address(row[1])) for query in found for row in connection.execute(query)}


@dataclass(frozen=True, slots=True)
class FactsPosition:
    """Up to which change, and up to which place in the chain, facts were looked at, and sent where they concern one."""

    change: ChangeNumber
    place: Place

    def past(self, change: Change) -> "FactsPosition":
        """The cursor after the next change."""
        if change.event is not None:
            return FactsPosition(change.number, (change.event.block_number, change.event.log_index))
        return FactsPosition(change.number, min(self.place, (change.last_block_number or 0, END_OF_BLOCK)))


@dataclass(frozen=True, slots=True)
class Heard:
    """A webhook's share of some changes, and its cursor after them."""

    changes: tuple[Change, ...]
    cursor: FactsPosition


def select_heard(
    subject: Subject, cursor: FactsPosition, changes: Sequence[Change], concerned: Concerned, most: int
) -> Heard:
    """The first ``most`` of ``changes`` that this webhook hears of.

    ``changes`` are those after its cursor; of a webhook of finalized facts those that concern what is final.
    """
    heard: list[Change] = []
    for change in changes:
        if change.event is None or subject.hears(change.event, concerned):
            if len(heard) == most:
                break
            heard.append(change)
        cursor = cursor.past(change)
    return Heard(tuple(heard), cursor)


def _lists(value: object, account: Address) -> bool:
    return isinstance(value, list) and account in value
