"""Waiting until the outcome of a bounty is in a block that the chain has finalized.

Money is claimed by an outcome that no reorg can take back. What is waited for, and about until when, is shown once, as
text and as an event; what the newest block already rules out is refused at once.
"""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from bounty_protocol.chain.blocks import Header, header_call
from bounty_protocol.chain.hub import BountyView
from bounty_protocol.clock import iso_utc
from bounty_protocol.domain.lifecycle.hub_events import BountyFinalized
from bounty_protocol.types import BlockNumber, BountyId, UnixSeconds

from service_cli.chain.events import UnfinalizedOutcome
from service_cli.chain.receipts import ExpectedEvent, bounty_topic
from service_cli.chain.session import ChainClient
from service_cli.errors import CommandFailed
from service_cli.ui.output import Waiting, emit, say

T = TypeVar("T")
PATIENCE_SECONDS: Final = 1_800.0
"""How long a command waits for what is not final yet."""
_LEAST_SECONDS, _MOST_SECONDS = 1.0, 15.0
"""Seconds between two looks: a tenth of what is left, within these."""
_LOOKS: Final = 10


def once_final(
    chain: ChainClient, bounty_id: BountyId, waiting_event: type[UnfinalizedOutcome], check: Callable[[BountyView], T]
) -> T:
    """Return what ``check`` finds in the newest block's bounty, once its outcome is final; ``check`` refuses as early
    as it can.

    An outcome that is not final after ``PATIENCE_SECONDS`` is the failure ``not_finalized``. An endpoint that does not
    answer meanwhile is queried again.
    """
    began, pending, left = time.monotonic(), None, 0
    with Waiting("waiting for finality") as waiting:
        while True:
            elapsed = int(time.monotonic() - began)
            try:
                block = chain.final_block()
                views = [chain.hub.call("getBounty", bounty_id, block=at) for at in (None, block)]
                asked = chain.ask(*views, header_call(block))
                bounty = asked.bounty(bounty_id)
                found = check(bounty)
                final, finalized = asked.hub.bounty(bounty_id, block), asked.header(block)
                if final is not None and (final.outcome, final.winner) == (bounty.outcome, bounty.winner):
                    return found
                if pending is None and (pending := _pending(chain, bounty_id, finalized, waiting_event)) is not None:
                    emit(pending)
                    left = pending.final_at - chain.latest().time + elapsed
                if elapsed >= PATIENCE_SECONDS:
                    raise _impatient(_pending(chain, bounty_id, finalized, waiting_event) or pending)
            except CommandFailed as failure:
                if failure.code != "chain_unavailable" or pending is None or elapsed >= PATIENCE_SECONDS:
                    raise
                say(f"{failure.message} Looking again.")
            still = max(0, left - elapsed)
            waiting.tick(still or None)
            time.sleep(min(_MOST_SECONDS, max(_LEAST_SECONDS, still / _LOOKS)))


def _pending(
    chain: ChainClient, bounty_id: BountyId, finalized: Header, kind: type[UnfinalizedOutcome]
) -> UnfinalizedOutcome | None:
    """Return when the outcome becomes final, if finality stays as far behind as now; None if a reorg removed the
    outcome.
    """
    start = BlockNumber(finalized.number + 1)
    found = ExpectedEvent(BountyFinalized, [bounty_topic(bounty_id)]).newest(chain, start)
    if found is None:
        return None
    ended = chain.header(found.block_number).time
    final_at = UnixSeconds(chain.latest().time + ended - finalized.time)
    return kind(bounty_id, found.block_number, finalized.number, final_at)


def _impatient(pending: UnfinalizedOutcome | None) -> CommandFailed:
    message = "The chain has not finalized the outcome."
    if pending is not None:
        where = f"The outcome of bounty {pending.bounty_id} is in block {pending.block_number}"
        message = f"{where}; the chain has finalized {pending.finalized_block_number}."
    return CommandFailed(
        "not_finalized",
        message,
        next_action="Run the command again later; nothing was signed.",
        retry_not_before=None if pending is None else iso_utc(pending.final_at),
    )
