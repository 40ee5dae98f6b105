"""One bounty's events, followed on the chain itself, or the final ones of all, as the API's feed of changes shows them.

What is printed comes from the Hub's own log and view; the API only names the block to start at. Blocks that are not
final are read again at each look: an event that a reorg takes back is reported, too. An endpoint that does not answer
is retried for ``PATIENCE_SECONDS``, and so is one that no longer has the bounty. Ends once the outcome is in a
finalized block.
"""

import time
from dataclasses import dataclass, field
from typing import Final, NoReturn

from bounty_protocol.chain.events import Log
from bounty_protocol.chain.hub import BountyView
from bounty_protocol.domain.lifecycle.hub_events import BountyFinalized, bounty_of
from bounty_protocol.domain.lifecycle.states import Outcome
from bounty_protocol.shapes import to_json
from bounty_protocol.types import BlockNumber, BountyId, Bytes32
from bounty_protocol.wire.bounties import BountyDetail
from bounty_protocol.wire.changes import MAX_LIMIT, ChangeList
from bounty_protocol.wire.values import Finality

from service_cli.api import api_of, bounty_detail
from service_cli.chain.receipts import bounty_topic, hub_events
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.events import AwaitedStep, FinalBounty, FinalChange, RevertedEvent, WatchedEvent
from service_cli.queries.next_steps import after_the_end
from service_cli.queries.submissions import first_blocks
from service_cli.ui.output import Waiting, emit, say
from service_cli.ui.progress import NextStep, next_step

PATIENCE_SECONDS: Final = 900.0
_PASSES: Final = {"chain_unavailable", "bounty_not_found"}
"""A bounty that was there is gone with a reorg that may take its creation up again, or at a node that is behind."""
POLL_SECONDS: Final = 2.0
_MOST_SECONDS: Final = 30.0


def watch_bounty(settings: Settings, bounty_id: BountyId) -> FinalBounty:
    """Run the command ``bounty:watch``: print every event of the Hub so far and from now on, until the end is final."""
    chain = ChainClient(settings)
    chain.bounty(bounty_id)
    outage = Outage()
    api = api_of(settings)
    try:  # from the Hub's first block, or where that is far back from the creation by the index
        first = first_blocks(chain, api, bounty_id)[0]
    except CommandRefused:  # what happened before the block that last changed the bounty is left out
        first = bounty_detail(api, bounty_id).read(BountyDetail).block.number
    watch = _Watch(chain, bounty_id, first)
    with Waiting(f"bounty {bounty_id}") as waiting:
        while True:
            try:
                if (end := watch.look()) is not None:
                    break
                outage.end()
            except (CommandFailed, CommandRefused) as failure:
                if failure.code not in _PASSES:
                    raise
                outage.note(failure)
            waiting.tick(watch.seconds_left)
            time.sleep(outage.pause)
    outcome, reason = end.outcome, end.reason
    if outcome is None or reason is None:
        raise ValueError("an open bounty has no end")
    won = (end.winner, end.winning_submission) if outcome is Outcome.AWARDED else (None, None)
    return emit(FinalBounty(bounty_id, outcome, reason, *won), after_the_end(bounty_id, end))


@dataclass
class Outage:
    """How long who is asked has not answered: said once, asked ever more seldom, and given up in the end."""

    pause: float = POLL_SECONDS
    began: float | None = None

    def note(self, failure: CommandFailed | CommandRefused) -> None:
        """Count another unanswered request; raise the failure after ``PATIENCE_SECONDS``."""
        if self.began is None:
            self.began = time.monotonic()
            say(f"{failure.message} Retrying until it answers.")
        elif time.monotonic() - self.began > PATIENCE_SECONDS:
            raise failure
        self.pause = min(2 * self.pause, _MOST_SECONDS)

    def end(self) -> None:
        """Note that there is an answer."""
        if self.began is not None:
            say("It answers again.")
        self.pause, self.began = POLL_SECONDS, None


def watch_changes(settings: Settings) -> NoReturn:
    """Run the command ``bounty:watch`` without a bounty: print each final event so far and from now on, in order.

    An event that is not final yet delays those after it. It ends only with an error that lasts.
    """
    api, after, outage = api_of(settings), 0, Outage()
    while True:
        try:
            query = {"after": str(after), "limit": str(MAX_LIMIT)}
            page = api.get("/api/changes", query).read(ChangeList)
            outage.end()
        except CommandFailed as failure:
            outage.note(failure)
            time.sleep(outage.pause)
            continue
        for change in page.items:
            event = change.event  # none of what a reorg took back
            if event is not None and event.finality is not Finality.FINALIZED:
                break
            after = change.number
            if event is not None:
                place = (event.block_number, event.block_hash, event.log_index, event.tx_hash, event.time)
                emit(FinalChange(after, event.name, event.bounty_id, event.fields, *place))
        else:
            after = page.next_after
            if page.has_more:
                continue
        time.sleep(POLL_SECONDS)


@dataclass
class _Watch:
    """The state of a bounty's printed log: of blocks from ``first`` on, each log by its block and place."""

    chain: ChainClient
    bounty_id: BountyId
    first: BlockNumber
    printed: dict[tuple[Bytes32, int], Log] = field(default_factory=dict)
    upcoming: NextStep | None = None
    seconds_left: int | None = None

    def look(self) -> BountyView | None:
        """Print what is new; return the bounty once its outcome is final."""
        head = self.chain.latest()
        final = self.chain.finalized().number
        self._print_news(head.number)
        bounty = self.chain.bounty(self.bounty_id)
        if bounty.outcome:
            view = self.chain.hub.bounty(self.bounty_id, final)
            if view is not None and view.outcome is not None:
                return bounty
        is_final = bounty.outcome is not None
        step = next_step(bounty.schedule, head.time, has_submissions=bounty.has_submissions, is_final=is_final)
        self.seconds_left = None if step.at is None else step.at - head.time
        if step != self.upcoming:
            self.upcoming = step
            emit(AwaitedStep(self.bounty_id, step.step, step.at))
        # Blocks that are final are not read again.
        self.printed = {place: log for place, log in self.printed.items() if log.block_number > final}
        self.first = BlockNumber(max(self.first, final + 1))
        return None

    def _print_news(self, head: BlockNumber) -> None:
        """Print logs that are new since the last poll, and those whose block is gone."""
        logs = hub_events(self.chain.at(head), self.first, [None, bounty_topic(self.bounty_id)])
        own = ((log, what) for log, what in logs if bounty_of(what) == self.bounty_id)  # not a number of another event
        found = {(log.block_hash, log.log_index): (log, what) for log, what in own}
        missing = {place: log for place, log in self.printed.items() if place not in found}
        replaced = {place: log for place, log in missing.items() if self._is_replaced(log, head)}
        for log in replaced.values():
            emit(RevertedEvent(self.bounty_id, log.tx_hash, log.block_number))
        for place, (log, what) in found.items():
            if place not in self.printed:
                with chain_errors():
                    fields = to_json(what)
                if isinstance(what, BountyFinalized) and what.outcome is not Outcome.AWARDED:
                    fields |= {"winner": None, "submission_commitment": None}
                emit(WatchedEvent(type(what).__name__, self.bounty_id, log.tx_hash, log.block_number, fields))
        unknown = {place: log for place, log in missing.items() if place not in replaced}
        self.printed = unknown | {place: log for place, (log, _) in found.items()}

    def _is_replaced(self, log: Log, head: BlockNumber) -> bool:
        """Return whether the chain has replaced a log's block. Above the head of this poll that is
        unknown: one of an endpoint's nodes may be behind.
        """
        return log.block_number <= head and self.chain.header(log.block_number).hash != log.block_hash
