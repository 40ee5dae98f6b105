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
from typing import Final, NoReturn

from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.events import Log, UnknownLog
from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.types import BlockNumber, BountyId, Bytes32
from psycopg import DataError, IntegrityError
from service_common.log import get_logger

from service_indexer.chain import FollowedChain, Glimpse, LogRange
from service_indexer.writer import BlockId, CopyChange, Position, Writer

FINALITY_SECONDS: Final = 5.0
"""How often the chain's finality is asked for, and the newest block with an unfinal fact."""
BEHIND_SECONDS: Final = 30.0
"""For how long a newest block below the copy's is taken for an endpoint that is behind, and not for a shorter chain."""
UNEXPLAINED_SECONDS: Final = 60.0
"""For how long the logs are read again because of a storage root that they do not explain."""
LONGEST_LOOK: Final = 10_000
"""Blocks above the final one that are all read at each look; beyond that, only those after the last look's end."""
FIRST_LEAP: Final = 2_000
LONGEST_LEAP: Final = 20_000
"""Blocks of history in one transaction; half as many after a leap that took longer than a few seconds."""

log = get_logger(__name__)


class Halted(Exception):
    """The chain contradicts what is final, or is of another release; an operator has to decide."""


class Follower:
    """Keeps a copy equal to the chain. A new follower reads the unfinal logs once more; what it remembers then saves
    questions. A copy begins at the block ``start``, before the Hub's first. ``tell_final`` is called with the first and
    the last block of what became final, once it is copied and if it holds a log; not while history is read.
    """

    def __init__(
        self,
        chain: FollowedChain,
        copy: Writer,
        start: BlockNumber,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        tell_final: Callable[[BlockNumber, BlockNumber], object] = lambda _first, _last: None,
    ) -> None:
        self._chain, self._copy, self._start, self._monotonic = chain, copy, start, monotonic
        self._tell_final = tell_final
        self._final, self._ask_final_at = BlockNumber(0), float("-inf")
        self._compare_fact_at = float("-inf")
        self._leap, self._is_history = FIRST_LEAP, False
        self._behind_since = self._behind_at = float("-inf")
        self._version: datetime | None = None
        self._forget()

    def _forget(self) -> None:
        """Delete the unfinal part."""
        self._explained_root: Bytes32 | None = None
        """The storage root that the copied logs explain."""
        self._may_explain = True
        """Whether the next look that finds nothing may explain the root."""
        self._unexplained_since: float | None = None
        self._look_end: Header | None = None

    def step(self) -> bool:
        """Take one step; return True if the next one should follow at once. Raises ``Halted`` and
        ``ChainUnavailable``.
        """
        position = self._copy.position()
        if position is None:
            self._copy.begin(self._chain.header(self._start))
            return True
        if position.head.halted is not None:
            raise Halted(position.head.halted)
        if position.version != self._version:  # another writer, a rebuild, or a database that lost its last seconds
            self._forget()
            self._version = position.version
        if self._monotonic() >= self._ask_final_at:
            self._final = self._chain.final()
            self._require_final_block(position)
            self._ask_final_at = self._monotonic() + FINALITY_SECONDS
        has_more = self._final > position.head.finalized_number
        try:
            if has_more:
                self._read_final(position)
            else:
                self._follow_tip(position)
        except UnknownLog as unknown:
            reason = f"{unknown}: it belongs to another release; use the release made for it, then rebuild the copy"
            if unknown.block <= self._final:  # an unfinal one may still go
                self._halt(reason)
            raise Halted(reason) from unknown
        except (ValueError, DataError, IntegrityError) as error:
            why = type(error).__name__
            raise ChainUnavailable(f"RPC endpoints listed a log that the Hub cannot emit ({why})") from error
        return has_more

    def _require_final_block(self, position: Position) -> None:
        number = position.head.finalized_number
        if self._final < number != self._start:  # a young Hub's start is taken as final before it is
            raise ChainUnavailable("the RPC endpoints are behind what is already final")
        if self._chain.header(number).hash != position.finalized_hash:
            self._halt(
                f"block {number} on the chain differs from the one this copy saw finalized; check the RPC endpoints, "
                "then rebuild the copy"
            )

    def _halt(self, reason: str) -> NoReturn:
        """Halt the copy at its current version."""
        self._copy.halt(self._version, reason)
        raise Halted(reason)

    def _read_final(self, position: Position) -> None:
        """Copy the next leap of final blocks."""
        began, first = self._monotonic(), BlockNumber(position.head.finalized_number + 1)
        found = self._chain.logs(first, BlockNumber(min(self._final, first + self._leap - 1)))
        is_slow = self._monotonic() - began > FINALITY_SECONDS
        self._leap = max(1, self._leap // 2) if is_slow else min(LONGEST_LEAP, self._leap * 2)
        is_following = position.head.block_number > position.head.finalized_number
        self._is_history = self._is_history or not is_following
        change = self._difference(position, found, first)
        change.finalized, change.tip = found.end, self._final
        if change.retract_from is not None:
            self._forget()  # rows above the leap went, too
        if change.retract_from is not None or found.end.number > position.head.block_number:
            change.newest = found.end
        self._apply(position, change)
        if found.logs and self.has_history:
            self._tell_final(first, found.end.number)

    @property
    def has_history(self) -> bool:
        """Whether all history is copied and compared with the Hub."""
        return not self._is_history

    def _follow_tip(self, position: Position) -> None:
        """Move to the newest block, or read the unfinal logs again."""
        fact = None
        if self._monotonic() >= self._compare_fact_at:
            fact, self._compare_fact_at = position.newest_fact, self._monotonic() + FINALITY_SECONDS
        glimpse = self._chain.glimpse(fact.number if fact else None)
        is_behind = glimpse.newest.number < position.head.block_number
        is_behind = is_behind or (fact is not None and glimpse.fact_hash is None)
        if is_behind and not self._is_shorter_chain():
            return
        is_same = fact is None or glimpse.fact_hash == fact.hash
        is_explained = glimpse.root is not None and glimpse.root == self._explained_root and not self._is_history
        if is_same and is_explained and not is_behind:
            self._unexplained_since = None
            self._apply(position, CopyChange(newest=glimpse.newest))
            return
        self._look(position, glimpse, shorter=is_behind)

    def _is_shorter_chain(self) -> bool:
        """Return whether the newest blocks were below the copy's for so long that the chain itself must be shorter."""
        now = self._monotonic()
        if now - self._behind_at > FINALITY_SECONDS:
            self._behind_since = now
        self._behind_at = now
        self._chain.distrust()
        return now - self._behind_since >= BEHIND_SECONDS

    def _look(self, position: Position, glimpse: Glimpse, *, shorter: bool) -> None:
        """Read the logs above the final block, and replace what differs."""
        last = self._chain.reached(glimpse.newest)
        first = BlockNumber(self._first_of_look(position, last) + 1)
        changed, end = False, BlockId(position.head.finalized_number, position.finalized_hash)
        if last >= first:
            changed, end = self._replace(position, glimpse, first, last, shorter=shorter)
        if self._is_history:
            self._check_history(end)
        self._accept_root(glimpse.root, changed=changed)

    def _replace(
        self, position: Position, glimpse: Glimpse, first: BlockNumber, last: BlockNumber, *, shorter: bool
    ) -> tuple[bool, BlockId]:
        """Replace what differs in a range; return whether something did, and the block up to which it was read."""
        found = self._chain.logs(first, last)
        while found.end.number < last:
            more = self._chain.logs(BlockNumber(found.end.number + 1), last)
            found = LogRange(found.logs + more.logs, {**found.times, **more.times}, more.end)
        change = self._difference(position, found, first, shorter=shorter)
        if shorter or last >= position.head.block_number or change.retract_from is not None:
            change.newest = found.end
        change.tip = glimpse.newest.number
        self._apply(position, change)
        self._look_end = found.end
        return change.retract_from is not None or bool(change.logs), BlockId(found.end.number, found.end.hash)

    def _first_of_look(self, position: Position, last: BlockNumber) -> BlockNumber:
        """Return the block above which logs are read: the final one, unless it is old and the block at which the last
        poll ended is still on the chain."""
        final, end = position.head.finalized_number, self._look_end
        if end is None or last - final <= LONGEST_LOOK or end.number > last:
            return final
        return end.number if self._chain.header(end.number).hash == end.hash else final

    def _accept_root(self, root: Bytes32 | None, *, changed: bool) -> None:
        """Accept the root after a poll that finds nothing new, if it follows one that found logs. A root may come from
        another moment than the logs, or from another node of the same endpoint."""
        now = self._monotonic()
        if changed:
            self._may_explain, self._unexplained_since = True, None
        elif self._may_explain or root is None:
            self._explained_root, self._may_explain = root, root is None
        else:
            self._unexplained_since = self._unexplained_since or now
            self._chain.distrust()
            if now - self._unexplained_since >= UNEXPLAINED_SECONDS:
                log.warning("no log explains the Hub's storage root", root=root)
                self._explained_root, self._unexplained_since = root, None

    def _difference(
        self, position: Position, found: LogRange, first: BlockNumber, *, shorter: bool = False
    ) -> CopyChange:
        """Return the change that makes the copied logs of a range equal the chain's. Rows and their order follow from
        the logs in chain order, so a missing one invalidates all later ones."""
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

    def _check_history(self, end: BlockId) -> None:
        """Compare the copied history with the Hub's own views: each open bounty, and that there are no others."""
        try:
            kept, count = self._copy.open_pages()
        except ValueError as gap:
            self._halt(f"logs of a bounty are missing: {gap}; rebuild the copy")
        ids = [*kept, BountyId(count + 1)]
        shown = self._chain.open_bounties(ids, end.number)
        wrong = [number for number, page in zip(ids, shown, strict=True) if page != kept.get(number)]
        if not wrong:
            self._is_history = False
        elif self._chain.header(end.number).hash == end.hash:  # else it was reorganized meanwhile: at the next look
            self._halt(f"the Hub's bounty {wrong[0]} differs from the copied logs; rebuild the copy")


def _common_length(ours: Sequence[Log], theirs: Sequence[Log]) -> int:
    """Return how many logs two lists have in common at their beginning."""
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(ours), len(theirs)))
