"""How old and how final what a page shows is, in words.

A page is made of several answers, of which its reader's notes tell (``api.client.Reader``). The oldest of them that the
API could not confirm again decides what is stated.
"""

from dataclasses import dataclass
from typing import Final

from bounty_protocol.domain.halts import STANDS_STILL_SECONDS
from bounty_protocol.domain.lifecycle import BountyStatus
from bounty_protocol.types import UnixSeconds
from bounty_protocol.wire.bounties import BountyDetail
from bounty_protocol.wire.deployment import ChainHead, Deployment
from bounty_protocol.wire.values import Finality

from service_web.api.client import current_reader
from service_web.api.rows import IndexHead
from service_web.formatting import counted, moment, span
from service_web.texts import gettext, marked

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


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that a reader has to know before trusting the page."""

    title: str
    text: str


def notices(
    head: IndexHead | None, chain: ChainHead | None, deployment: Deployment | None, now: int
) -> tuple[Notice, ...]:
    """The present faults. Of a chain that stands still the index is not late."""
    found: list[Notice] = []
    is_still = chain is not None and stands_still(chain, now)
    if chain is not None and is_still:
        found.append(_of_a_chain_that_stands_still(chain, now))
    if (text := _of_what_was_answered(deployment)) is not None:
        is_refused = current_reader().is_refused
        why = gettext("Too busy at the moment") if is_refused else gettext("The API does not answer at the moment")
        found.append(Notice(why, text))
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
    elif head is not None and is_late(head, chain.block_time if chain is not None and is_still else now):
        at = head.block.timestamp
        text = gettext("What you see is the state of %(time)s, %(span)s ago.", time=moment(at), span=span(now - at))
        found.append(Notice(gettext("The index is behind the chain"), text))
    return tuple(found)


def _of_what_was_answered(deployment: Deployment | None) -> str | None:
    """What is lacking, or of an earlier moment; None where nothing is."""
    asking = current_reader()
    if deployment is None:
        return gettext("Parts of this page are lacking. Reload in a minute.")
    if not asking.unconfirmed:
        return gettext("Parts of this page may be lacking. Reload in a minute.") if asking.is_lacking else None
    since = moment(min(asking.unconfirmed))
    if asking.is_lacking:
        return gettext("What you see was true at %(time)s, and parts may be lacking. Reload in a minute.", time=since)
    return gettext("What you see was true at %(time)s and may have changed since. Reload in a minute.", time=since)


def stands_still(chain: ChainHead, now: int) -> bool:
    """Whether the newest block that the chain showed is old, by this process's clock."""
    return now - chain.block_time > STANDS_STILL_SECONDS


def _of_a_chain_that_stands_still(chain: ChainHead, now: int) -> Notice:
    text = gettext(
        "Its newest block is of %(time)s, %(span)s ago. What you send now counts only in a later block, and a deadline "
        "that passes until then has passed: a Submission or a Verdict comes too late if the next block is later than "
        "its deadline. Claims have no deadline, and wait. If your deadline is near, send your call "
        "by way of the settlement layer, as docs/chain-halts.md of this project explains.",
        time=moment(chain.block_time),
        span=span(now - chain.block_time),
    )
    return Notice(gettext("The chain makes no new block"), text)


def is_late(head: IndexHead, now: int) -> bool:
    """Whether the newest indexed block is older than it should be at ``now``."""
    return now - head.block.timestamp > STANDS_STILL_SECONDS


def finality_seconds(detail: BountyDetail, changed_at: UnixSeconds, finalized_at: int) -> int:
    """Return about how long a bounty's newest fact can still change, if finality goes on as far behind; 0 once final.

    By the times of the fact's block and of the finalized one, which may share one.
    """
    return 0 if detail.finality is Finality.FINALIZED else max(1, changed_at - finalized_at)


def finality(status: BountyStatus, seconds: int) -> str:
    """How final a bounty's newest fact is, as a sentence: its terms while it is open, then its outcome."""
    is_open = status is BountyStatus.OPEN
    if seconds == 0:
        return gettext(_FINAL_TERMS if is_open else _FINAL_OUTCOME)
    about = span(seconds) if seconds >= 60 else counted(seconds, "second")
    return gettext(_OPEN_TERMS if is_open else _OPEN_OUTCOME, span=about)
