"""Waiting until the outcome of a bounty is in a block that the chain has finalized.

Money is claimed by an outcome that no reorg can take back. What is waited for, and about until when, is shown once, as
text and as an event; what the newest block already rules out is refused at once.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bounty_protocol.chain.blocks import Header, header_at
from bounty_protocol.chain.hub import BountyView
from bounty_protocol.clock import iso_utc
from bounty_protocol.domain.hub_events import BountyFinalized
from bounty_protocol.types import BlockNumber, BountyId, UnixSeconds

from service_cli.chain.events import UnfinalizedOutcome
from service_cli.chain.receipts import ExpectedEvent, bounty_topic
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.errors import CommandFailed
from service_cli.ui.output import Waiting, emit, say

PATIENCE_SECONDS: Final = 1_800.0
"""How long a command waits for what is not final yet."""
_LEAST_SECONDS, _MOST_SECONDS = 1.0, 15.0
"""Between two looks: a tenth of what is left, within these."""
_LOOKS: Final = 10


@dataclass(frozen=True, slots=True)
class PendingOutcome:
    """An outcome that is not final yet: its block, the finalized one, and about when that will have come so far."""

    bounty_id: BountyId
    block: BlockNumber
    finalized: BlockNumber
    now: UnixSeconds
    final_at: UnixSeconds

    @property
    def text(self) -> str:
        return (
            f"The outcome of bounty {self.bounty_id} is in block {self.block}, the chain has finalized {self.finalized}"
        )

    def show(self, kind: type[UnfinalizedOutcome]) -> None:
        """Show it, as an event of this kind and as text."""
        emit(kind(self.bounty_id, self.block, self.finalized, self.final_at))


def once_final(
    chain: ChainClient,
    bounty_id: BountyId,
    waiting_event: type[UnfinalizedOutcome],
    check: Callable[[BountyView], object],
) -> BountyView:
    """The bounty as the newest block has it, once its outcome is final; ``check`` refuses what can be refused before.

    An outcome that is not final after ``PATIENCE_SECONDS`` is the failure ``not_finalized``. An endpoint that does not
    answer while this waits is queried again.
    """
    began, pending = time.monotonic(), None
    with Waiting("waiting for finality") as waiting:
        while True:
            elapsed = int(time.monotonic() - began)
            try:
                bounty = chain.bounty(bounty_id)
                check(bounty)
                finalized = chain.finalized()
                if _stands(chain, bounty_id, bounty, finalized):
                    return bounty
                if pending is None and (pending := _pending(chain, bounty_id, finalized)) is not None:
                    pending.show(waiting_event)
                if elapsed >= PATIENCE_SECONDS:
                    raise _impatient(_pending(chain, bounty_id, finalized) or pending)
            except CommandFailed as failure:
                if failure.code != "chain_unavailable" or pending is None or elapsed >= PATIENCE_SECONDS:
                    raise
                say(f"{failure.message} Looking again.")
            left = 0 if pending is None else max(0, pending.final_at - pending.now - elapsed)
            waiting.tick(left or None)
            time.sleep(min(_MOST_SECONDS, max(_LEAST_SECONDS, left / _LOOKS)))


def _stands(chain: ChainClient, bounty_id: BountyId, bounty: BountyView, finalized: Header) -> bool:
    """Whether the finalized block holds the same outcome as the newest one."""
    with chain_errors():
        final = chain.hub.bounty(bounty_id, finalized.number)
    return final is not None and (final.outcome, final.winner) == (bounty.outcome, bounty.winner)


def _pending(chain: ChainClient, bounty_id: BountyId, finalized: Header) -> PendingOutcome | None:
    """How far finality has to come, if it goes on as far behind as now; None where a reorg took the outcome out."""
    start = BlockNumber(finalized.number + 1)
    found = ExpectedEvent(BountyFinalized, [bounty_topic(bounty_id)]).newest(chain, start)
    if found is None:
        return None
    now = chain.latest().time
    with chain_errors():
        ended = header_at(chain.rpc, found.block_number).time
    final_at = UnixSeconds(now + ended - finalized.time)
    return PendingOutcome(bounty_id, found.block_number, finalized.number, now, final_at)


def _impatient(pending: PendingOutcome | None) -> CommandFailed:
    message = "The chain has not finalized the outcome." if pending is None else f"{pending.text}."
    return CommandFailed(
        "not_finalized",
        message,
        next_action="Run the command again later; nothing was signed.",
        retry_not_before=None if pending is None else iso_utc(pending.final_at),
    )
