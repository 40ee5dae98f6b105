"""One step of the copy towards the chain, at any pace of blocks: the whole algorithm.

Each second the newest block and the Hub's storage root are looked at, and each five seconds the newest block with an
unfinal fact. The root says only when to read: where it changed, or where that block has another hash, the logs above
the copy's final block are read again and what differs is replaced in one transaction. When finality moves, the logs of
the leap are read again whatever the root says: what they say is final, and nothing before. History is the same, in
longer leaps.

The copy halts where the chain shows another block than the copy's final one, since final facts were acted upon; where a
final log is of another release; and where the Hub itself knows other bounties than the copied history.
"""

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.events import Log, UnknownLog
from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.types import BlockNumber, BountyId, Bytes32
from prometheus_client import Counter
from psycopg import DataError, IntegrityError
from service_common.log import get_logger

from service_indexer.chain import FollowedChain, Glimpse, LogRange
from service_indexer.writer import CopyChange, FactBlock, Position, Writer

FINALITY_SECONDS: Final = 5.0
"""How often the chain's finality is asked for, and the newest block with an unfinal fact."""
BEHIND_SECONDS: Final = 30.0
"""For how long a newest block below the copy's is taken for an endpoint that is behind, and not for a shorter chain."""
UNEXPLAINED_SECONDS: Final = 60.0
"""For how long the logs are read again because of a storage root that they do not explain."""
LONGEST_LOOK: Final = 10_000
"""Blocks above the final one that are all read again at each look; of more, those above the last look's end."""
LONGEST_LEAP: Final = 20_000
"""Blocks of history in one transaction."""
UNEXPLAINED: Final = Counter(
    "service_index_unexplained_roots_total", "Changes of the Hub's storage that no log explained within a minute"
)

log = get_logger(__name__)


class Halted(Exception):
    """The chain contradicts what is final, or is of another release; an operator has to decide."""


class Follower:
    """Keeps a copy equal to the chain. What it remembers between steps saves questions and decides nothing: a new one
    reads the unfinal logs once more. A copy begins at the block ``start``, before the Hub's first."""

    def __init__(
        self, chain: FollowedChain, copy: Writer, start: BlockNumber, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._chain, self._copy, self._start, self._monotonic = chain, copy, start, monotonic
        self._final, self._ask_final_at = BlockNumber(0), float("-inf")
        self._is_history = False
        self._behind_since: float | None = None
        self._version: datetime | None = None
        self._forget()

    def _forget(self) -> None:
        """Know nothing of the unfinal part."""
        self._settled: Bytes32 | None = None
        """The storage root that the copied logs explain."""
        self._explained = True
        """Whether a look found something new since the root was another one."""
        self._unsettled_since: float | None = None
        self._look_end: Header | None = None

    def step(self) -> bool:
        """Take one step; True where the next one should follow at once. Raises ``Halted`` and ``ChainUnavailable``."""
        position = self._copy.position()
        if position is None:
            self._copy.begin(self._chain.header(self._start))
            return True
        if position.head.halted is not None:
            raise Halted(position.head.halted)
        if position.version != self._version:  # another writer, a rebuild, or a database that lost its last seconds
            self._forget()
            self._version = position.version
        is_due = self._monotonic() >= self._ask_final_at
        if is_due:
            self._final = self._chain.final()
            self._require_final_block(position)
            self._ask_final_at = self._monotonic() + FINALITY_SECONDS
        is_behind = self._final > position.head.finalized_number
        try:
            if is_behind:
                self._read_final(position)
            else:
                self._follow_tip(position, position.newest_fact if is_due else None)
        except UnknownLog as unknown:
            reason = f"{unknown}: it is of another release; use the release made for it, then rebuild the copy"
            if unknown.block <= self._final:  # an unfinal one may still go
                self._copy.halt(reason)
            raise Halted(reason) from unknown
        except (ValueError, DataError, IntegrityError) as error:
            why = type(error).__name__
            raise ChainUnavailable(f"RPC endpoints listed a log that the Hub cannot emit ({why})") from error
        return is_behind

    def _require_final_block(self, position: Position) -> None:
        number = position.head.finalized_number
        if self._final < number != self._start:  # a young Hub's start is taken as final before it is
            raise ChainUnavailable("the RPC endpoints are behind what is already final")
        if self._chain.header(number).hash != position.finalized_hash:
            reason = (
                f"the chain shows another block {number} than the one this copy saw finalized; "
                "check the RPC endpoints, then rebuild the copy"
            )
            self._copy.halt(reason)
            raise Halted(reason)

    def _read_final(self, position: Position) -> None:
        """Copy the next leap of final blocks."""
        first = BlockNumber(position.head.finalized_number + 1)
        found = self._chain.logs(first, BlockNumber(min(self._final, first + LONGEST_LEAP - 1)))
        is_following = position.head.block_number > position.head.finalized_number
        self._is_history = self._is_history or not is_following
        change = self._difference(position, found, first)
        change.finalized, change.tip = found.end, self._final
        if change.retract_from is not None:
            self._forget()  # rows above the leap went, too
        if change.retract_from is not None or found.end.number > position.head.block_number:
            change.newest = found.end
        self._apply(position, change)

    def _follow_tip(self, position: Position, fact: FactBlock | None) -> None:
        """Move to the newest block; ``fact`` is the block of a log of which the hash is compared."""
        glimpse = self._chain.glimpse(fact.number if fact else None)
        is_behind = glimpse.newest.number < position.head.block_number
        is_behind = is_behind or (fact is not None and glimpse.fact_hash is None)
        if is_behind and not self._is_shorter_chain():
            return
        if not is_behind:
            self._behind_since = None
        is_same = fact is None or glimpse.fact_hash == fact.hash
        if is_same and not is_behind and glimpse.root is not None and glimpse.root == self._settled:
            self._apply(position, CopyChange(newest=glimpse.newest))
            return
        self._look(position, glimpse, shorter=is_behind)

    def _is_shorter_chain(self) -> bool:
        """Whether the newest blocks were below the copy's for so long that the chain itself got shorter."""
        now = self._monotonic()
        if self._behind_since is None:
            self._behind_since = now
        self._chain.distrust()
        return now - self._behind_since >= BEHIND_SECONDS

    def _look(self, position: Position, glimpse: Glimpse, *, shorter: bool) -> None:
        """Read the logs above the final block, and replace what differs."""
        last = self._chain.reached(glimpse.newest)
        first = BlockNumber(self._first_of_look(position, last) + 1)
        if last < first:
            self._settle(glimpse.root, changed=False)
            return
        found = self._chain.logs(first, last)
        while found.end.number < last:
            more = self._chain.logs(BlockNumber(found.end.number + 1), last)
            found = LogRange(found.logs + more.logs, {**found.times, **more.times}, more.end)
        change = self._difference(position, found, first, shorter=shorter)
        if shorter or last >= position.head.block_number or change.retract_from is not None:
            change.newest = found.end
        change.tip = glimpse.newest.number
        changed = change.retract_from is not None or bool(change.logs)
        self._apply(position, change)
        self._look_end = found.end
        self._settle(glimpse.root, changed=changed)
        if self._is_history:
            self._check_history(found.end)

    def _first_of_look(self, position: Position, last: BlockNumber) -> BlockNumber:
        """Return the block above which logs are read: the final one, unless that is long ago and the block at which
        the last look ended is still the chain's."""
        final, end = position.head.finalized_number, self._look_end
        if end is None or last - final <= LONGEST_LOOK or end.number > last:
            return final
        return end.number if self._chain.header(end.number).hash == end.hash else final

    def _settle(self, root: Bytes32 | None, *, changed: bool) -> None:
        """Note whether the logs explain the root: once a look finds nothing more after one that did. A root may be of
        another moment than the logs, or of another node of the same endpoint."""
        now = self._monotonic()
        if changed:
            self._explained, self._unsettled_since = True, None
        elif self._explained or root is None:
            self._settled, self._explained = root, False
        else:
            self._unsettled_since = self._unsettled_since or now
            self._chain.distrust()
            if now - self._unsettled_since >= UNEXPLAINED_SECONDS:
                UNEXPLAINED.inc()
                log.warning("no log explains the Hub's storage root", root=root)
                self._settled, self._unsettled_since = root, None

    def _difference(
        self, position: Position, found: LogRange, first: BlockNumber, *, shorter: bool = False
    ) -> CopyChange:
        """Return what makes the copied logs of a range those that the chain has. Rows and their order follow from the
        logs in the order of the chain, so one that was missing takes all later ones with it."""
        kept = self._copy.logs(first, None if shorter else found.end.number)
        same = _common_length(kept, found.logs)
        new, fact = found.logs[same:], position.newest_fact
        if same == len(kept) and not (new and fact is not None and fact.number > found.end.number):
            return CopyChange(logs=new, times=found.times)
        place = min(each.block_number for each in (*kept[same : same + 1], *new[:1]))
        log.warning("reorg repaired", block=place, depth=position.head.block_number - place + 1)
        logs = tuple(each for each in found.logs if each.block_number >= place)
        return CopyChange(retract_from=place, logs=logs, times=found.times)

    def _apply(self, position: Position, change: CopyChange) -> None:
        self._version = self._copy.apply(position, change)

    def _check_history(self, end: Header) -> None:
        """Compare the copied history with the Hub's own views: each open bounty, and that there is no further one."""
        reason = None
        try:
            kept, count = self._copy.open_pages()
        except ValueError as gap:
            reason = f"logs of a bounty are missing: {gap}; rebuild the copy"
        else:
            ids = [*kept, BountyId(count + 1)]
            shown = self._chain.open_bounties(ids, end.number)
            wrong = [number for number, page in zip(ids, shown, strict=True) if page != kept.get(number)]
            if wrong and self._chain.header(end.number).hash != end.hash:
                return  # the chain was reorganized meanwhile: at the next look
            if wrong:
                reason = f"the Hub knows bounty {wrong[0]} otherwise than the copied logs; rebuild the copy"
        if reason is not None:
            self._copy.halt(reason)
            raise Halted(reason)
        self._is_history = False


def _common_length(ours: Sequence[Log], theirs: Sequence[Log]) -> int:
    """Return how many logs two lists have in common at their beginning."""
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(ours), len(theirs)))
