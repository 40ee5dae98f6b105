"""What a webhook hears of: an account, a bounty, or all; and which changes of the index that is.

A webhook of finalized facts gets each fact once, when its block is final. One of unsafe facts gets each at once, and a
retraction where a reorg took out what it may have heard. In both the place in the chain up to which facts were sent is
what nothing is sent twice by: numbers of changes are this copy's own and count anew after a rebuild.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from service_common.db import hub_index as t
from service_common.types import MAX_INT64, Address, BlockNumber, BountyId
from service_common.wire.changes import Change, ChangeEvent
from service_common.wire.values import ChangeNumber, Finality
from sqlalchemy import Connection, select

_ALL: Final = "all"
END_OF_BLOCK: Final = MAX_INT64
Place = tuple[int, int]
"""Block number and log index."""
Involved = Collection[tuple[BountyId, Address]]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a webhook hears of; everything where neither is set."""

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
class Heard:
    """What a webhook hears of some changes. ``through`` is the last change that this covers, ``sent`` the place."""

    changes: tuple[Change, ...]
    through: ChangeNumber
    sent: Place


def select_heard(
    subject: Subject,
    finality: Finality,
    sent: Place,
    changes: Sequence[Change],
    involved: Involved,
    final: BlockNumber,
    most: int,
) -> Heard:
    """The first ``most`` of ``changes`` that this webhook hears of and was not sent; ``changes`` are in order.

    Nothing that was final is taken back: a retraction names the last block that stays, at least the final one.
    """
    heard: list[Change] = []
    through = changes[-1].number
    for change in changes:
        shown = _shown(subject, finality, sent, change, involved, final)
        if shown is None:
            continue
        if len(heard) == most:
            break
        heard.append(shown)
        sent, through = _place(shown), change.number
    else:
        through = changes[-1].number
    return Heard(tuple(heard), through, sent)


def _shown(
    subject: Subject, finality: Finality, sent: Place, change: Change, involved: Involved, final: BlockNumber
) -> Change | None:
    if change.event is not None:
        new = (change.event.block_number, change.event.log_index) > sent
        return change if new and subject.hears(change.event, involved) else None
    if finality is Finality.FINALIZED:
        return None
    stays = BlockNumber(max(change.last_block_number or 0, final))
    return replace(change, last_block_number=stays) if sent[0] > stays else None


def _place(change: Change) -> Place:
    if change.event is not None:
        return change.event.block_number, change.event.log_index
    return change.last_block_number or 0, END_OF_BLOCK


def _lists(value: object, account: Address) -> bool:
    return isinstance(value, list) and account in value
