"""How old and how final what a page shows is, in words.

A page is made of several answers. The oldest of them that the API could not confirm again decides what is stated.
"""

from dataclasses import dataclass, field
from typing import Final, TypeVar

from service_common.domain.lifecycle import BountyStatus
from service_common.types import BlockNumber, UnixSeconds
from service_common.wire.deployment import Deployment

from service_web.api.client import Answer
from service_web.api.rows import Head
from service_web.formatting import counted, moment, span
from service_web.texts import gettext, marked

T = TypeVar("T")
_LATE_SECONDS: Final = 120
"""A chain's newest block, its indexing and the clocks of two machines are this far apart at most, when all is well."""
_FINAL_TERMS: Final = marked(
    "The terms of this bounty cannot change any more: the chain has finalized the block that recorded it."
)
_FINAL_OUTCOME: Final = marked(
    "The outcome of this bounty cannot change any more: the chain has finalized the block that recorded it."
)
_OPEN_TERMS: Final = marked(
    "The terms of this bounty can still change for about %(span)s: "
    "the chain has not finalized the block that recorded it."
)
_OPEN_OUTCOME: Final = marked(
    "The outcome of this bounty can still change for about %(span)s: "
    "the chain has not finalized the block that recorded it."
)


@dataclass(slots=True)
class Freshness:
    """Collects the answers that a page is made of."""

    unconfirmed: list[UnixSeconds] = field(default_factory=list)

    def of(self, answer: Answer[T]) -> T:
        """The answer's value."""
        if answer.is_stale:
            self.unconfirmed.append(answer.good_at)
        return answer.value


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that a reader has to know before trusting the page."""

    title: str
    text: str


def notices(freshness: Freshness, head: Head | None, deployment: Deployment | None, now: int) -> tuple[Notice, ...]:
    """What is wrong at the moment, if anything."""
    found = []
    if freshness.unconfirmed:
        since = moment(min(freshness.unconfirmed))
        text = gettext("What you see was true at %(time)s and may have changed since. Reload in a minute.", time=since)
        found.append(Notice(gettext("The API does not answer at the moment"), text))
    if head is not None and head.hasIndexingErrors:
        found.append(
            Notice(
                gettext("The index has stopped"),
                gettext(
                    "The chain contradicts what was final. "
                    "Rely on the chain itself until the operator has found out why."
                ),
            )
        )
    elif head is not None and is_late(head, deployment, now):
        at = head.block.timestamp
        text = gettext("What you see is the state of %(time)s, %(span)s ago.", time=moment(at), span=span(now - at))
        found.append(Notice(gettext("The index is behind the chain"), text))
    return tuple(found)


def is_late(head: Head, deployment: Deployment | None, now: int) -> bool:
    """Whether the newest indexed block is older than it should be."""
    block_time = deployment.block_time_seconds if deployment is not None else 0
    return now - head.block.timestamp > max(_LATE_SECONDS, 20 * block_time)


def finality_seconds(block: BlockNumber, head: Head, block_time: float) -> int:
    """About how long a block can still be replaced; 0 once it is finalized."""
    return round(max(0, block - head.finalized_block_number) * block_time)


def finality(status: BountyStatus, block: BlockNumber, head: Head, block_time: float) -> str:
    """How final a bounty's newest fact is, as a sentence: its terms while it is open, then its outcome."""
    is_open = status is BountyStatus.OPEN
    if block <= head.finalized_block_number:
        return gettext(_FINAL_TERMS if is_open else _FINAL_OUTCOME)
    seconds = finality_seconds(block, head, block_time)
    about = span(seconds) if seconds >= 60 else counted(max(1, seconds), "second")
    return gettext(_OPEN_TERMS if is_open else _OPEN_OUTCOME, span=about)
