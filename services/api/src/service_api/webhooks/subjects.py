"""The subject of a webhook, an account, a bounty, or all, and its changes of the index.

A delivery is a reading of the feed of changes. A webhook of finalized facts gets each fact once, when its block is
final; what was final is taken back by a rebuild alone, which found it wrong. One of unsafe facts gets each at once.
Both hear every retraction of what concerns them, however late they read it: a worker that was killed does not know what
a receiver has heard. Where an index counts anew, the place in the chain is what a delivery goes on from.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from bounty_protocol.types import MAX_INT64, Address, BountyId
from bounty_protocol.wire.changes import Change, ChangeEvent
from bounty_protocol.wire.values import ChangeNumber
from service_common.db import hub_index as t
from sqlalchemy import Connection, select

_ALL: Final = "all"
END_OF_BLOCK: Final = MAX_INT64
Place = tuple[int, int]
"""Block number and log index."""
Involved = Collection[tuple[BountyId, Address]]


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a webhook; everything where neither is set."""

    account: Address | None = None
    bounty_id: BountyId | None = None

    def to_text(self) -> str:
        """As it is stored."""
        if self.account is not None:
            return f"account/{self.account}"
        return _ALL if self.bounty_id is None else f"bounty/{self.bounty_id}"

    def hears(self, event: ChangeEvent, involved: Involved) -> bool:
        """Whether this event is about it; ``involved`` is who takes part in which bounty."""
        if self.bounty_id is not None:
            return event.bounty_id == self.bounty_id
        if self.account is None:
            return True
        if event.bounty_id is not None and (event.bounty_id, self.account) in involved:
            return True
        return any(value == self.account or _lists(value, self.account) for value in event.fields.values())


def parse_subject(text: str) -> Subject:
    """Read what is stored."""
    kind, _, value = text.partition("/")
    if kind == "account":
        return Subject(account=Address(value))
    return Subject(bounty_id=BountyId(int(value))) if kind == "bounty" else Subject()


def involved_in(connection: Connection, changes: Iterable[Change], accounts: Collection[Address]) -> Involved:
    """Which of the accounts take part in the bounties of these changes: as Poster, as Solver with a Submission, or as
    Guardian of the pinned roster."""
    bounties = {change.event.bounty_id for change in changes if change.event is not None} - {None}
    if not bounties or not accounts:
        return frozenset()
    b, s, m = t.bounties.c, t.submissions.c, t.roster_members.c
    found = (
        select(b.bounty_id, b.poster).where(b.bounty_id.in_(bounties), b.poster.in_(accounts)),
        select(s.bounty_id, s.solver).where(s.bounty_id.in_(bounties), s.solver.in_(accounts)).distinct(),
        select(b.bounty_id, m.guardian)
        .join(t.roster_members, m.version == b.roster_version)
        .where(b.bounty_id.in_(bounties), m.guardian.in_(accounts)),
    )
    return frozenset((BountyId(row[0]), Address(row[1])) for query in found for row in connection.execute(query))


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
    subject: Subject, cursor: FactsPosition, changes: Sequence[Change], involved: Involved, most: int
) -> Heard:
    """The first ``most`` of ``changes`` that this webhook hears of.

    ``changes`` are those after its cursor; of a webhook of finalized facts those that concern what is final.
    """
    heard: list[Change] = []
    for change in changes:
        if change.event is None or subject.hears(change.event, involved):
            if len(heard) == most:
                break
            heard.append(change)
        cursor = cursor.past(change)
    return Heard(tuple(heard), cursor)


def _lists(value: object, account: Address) -> bool:
    return isinstance(value, list) and account in value
