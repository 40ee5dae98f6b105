"""How old and how final what a page shows is, in words."""

from dataclasses import dataclass

from bounty_protocol.domain.lifecycle.halts import STANDS_STILL_SECONDS
from bounty_protocol.domain.lifecycle.states import BountyStatus
from bounty_protocol.types import UnixSeconds
from bounty_protocol.wire.bounties import BountyDetail
from bounty_protocol.wire.values import Finality
from service_common.db.hub_reads import Head

from service_api.pages.formatting import counted, moment, span


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that a reader has to know before trusting the page."""

    title: str
    text: str


def notices(head: Head | None, now: UnixSeconds) -> tuple[Notice, ...]:
    """Return the current notices. The index is not behind if the chain makes no blocks."""
    if head is None:
        lacking = "Parts of this page are missing. Reload in a minute."
        return (Notice("The index cannot be read at the moment", lacking),)
    at, age = head.block_time, now - head.block_time
    if age <= STANDS_STILL_SECONDS:
        return ()
    if head.shows_tip:
        text = (
            f"Its newest block is from {moment(at)}, {span(age)} ago. What you send now counts only in a later block. "
            "A Submission or a Verdict comes too late if the next block is later than its deadline. Claims have no "
            "deadline and can wait. If your deadline is near, use force inclusion through the settlement layer, as "
            "docs/client.md of this project explains."
        )
        return (Notice("The chain makes no new blocks", text),)
    text = f"You see the state of {moment(at)}, {span(age)} ago."
    return (Notice("The index is behind the chain", text),)


def finality_seconds(detail: BountyDetail, changed_at: UnixSeconds, finalized_at: int) -> int:
    """Return about how long a bounty's newest fact can still change, if finality stays as far behind; 0 once final.

    It compares the times of the fact's block and of the finalized one, which may be equal.
    """
    return 0 if detail.finality is Finality.FINALIZED else max(1, changed_at - finalized_at)


def finality(status: BountyStatus, seconds: int) -> str:
    """Say how final a bounty's newest fact is: its terms while it is open, then its outcome."""
    fact = "terms" if status is BountyStatus.OPEN else "outcome"
    if seconds == 0:
        return f"The {fact} of this bounty can no longer change: the chain has finalized the block that recorded it."
    about = span(seconds) if seconds >= 60 else counted(seconds, "second")
    return (
        f"The {fact} of this bounty can still change for about {about}: "
        "the chain has not finalized the block that recorded it."
    )
