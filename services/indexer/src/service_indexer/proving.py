"""That no log of the Hub is missing from a stretch of the chain and none in it is false, shown from its headers.

Each header's hash covers two roots. The receipts root decides every log that an endpoint shows: the block's receipts
hold all of its logs, unaltered. The state root, with ``eth_getProof``, gives the Hub's storage root after the block:
where it is the same after two blocks, nothing between them changed what the Hub stores, and where it differs, there are
logs that show why. So blocks without a log are spared, in runs of any length, and blocks with logs are read whole.

What leaves the storage as it was is not shown to be there or not (docs/indexer.md names the events). A block that is
not later than its parent is never spared, for there a sign of life writes the time that is already stored.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final

from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.endpoints import Endpoint
from bounty_protocol.chain.events import Log
from bounty_protocol.chain.rpc import AnswerTooLarge, ChainUnavailable, RpcRefused, hex_bytes, mapping
from bounty_protocol.types import Address, BlockNumber, Bytes32
from service_common.log import get_logger

from service_indexer.chain import ChainModule, ChainReader
from service_indexer.contradiction import Contradiction
from service_indexer.merkle import FalseProof, storage_root
from service_indexer.receipts import has_no_receipts, logs_of_receipts

BLOCKS_AT_ONCE: Final = 8
"""Whose receipts are requested together: those of a full block are a megabyte or two."""
NEAR: Final = 1_000
"""Blocks behind the newest one whose storage is proven while they are read; nodes seldom prove more."""

FROM_THE_FIRST: Final = BlockNumber(0)

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Decided:
    """The logs of consecutive blocks up to ``covered``: what follows waits for receipts that were not answered.
    ``undecided``: blocks that should have been decided by their receipts, and no endpoint shows them."""

    logs: list[Log]
    undecided: frozenset[BlockNumber]
    covered: BlockNumber


@dataclass(frozen=True, slots=True)
class StorageProof:
    """The Hub's storage root after a block. Nothing that changed storage is missing from the copy between the block
    ``since`` and this one; ``FROM_THE_FIRST``: nothing at all."""

    number: BlockNumber
    hash: Bytes32
    storage_root: Bytes32
    since: BlockNumber


@dataclass(frozen=True, slots=True)
class Begun:
    """Where a stretch begins: since which block nothing is missing up to there, and the storage root, where known."""

    since: BlockNumber
    storage_root: Bytes32 | None


class Proofs:
    """Proofs of several endpoints about one Hub, and which of them showed which logs."""

    def __init__(self, chain: ChainReader, hub: Address) -> None:
        self._chain, self._hub = chain, hub
        self._shown: list[tuple[range, list[Endpoint]]] = []
        self._disputed = set[BlockNumber]()

    # ---------------------------------------------------------------- what was shown

    def shown(self, blocks: range, by: list[Endpoint], disputed: Iterable[BlockNumber] = ()) -> None:
        """These endpoints answered with the logs that were taken of these blocks; of some, others answered
        otherwise."""
        self._shown = [*self._shown[-1_000:], (blocks, by)]
        self._disputed.update(disputed)

    def blame(self, block: BlockNumber, why: str) -> None:
        """Whoever showed this block's logs showed them wrong."""
        for endpoint in self.shown_by(block):
            self._chain.contradicted(endpoint, why)

    def shown_by(self, block: BlockNumber) -> list[Endpoint]:
        """Who showed this block's logs last."""
        return next((by for blocks, by in reversed(self._shown) if block in blocks), [])

    def left_out(self, blocks: Mapping[BlockNumber, list[Endpoint]], decided: Decided) -> None:
        """These endpoints listed no log of these blocks: where receipts show one, they are counted."""
        proven = {entry.block_number for entry in decided.logs} - decided.undecided
        for block in proven & blocks.keys():
            for endpoint in blocks[block]:
                self._chain.contradicted(endpoint, f"no log was shown of block {block}, which has some")

    # ---------------------------------------------------------------- one block

    def storage_root(self, header: Header) -> Bytes32 | None:
        """The Hub's storage root after this block; None where no endpoint proves it, or all that answer prove falsely:
        local nodes do of a block whose state was altered by hand."""
        if header.state_root is None:
            return None
        try:
            proven = (found for _, found in self._chain.answers(lambda chain: self._prove(chain, header)))
            return next((found for found in proven if found is not None), None)
        except Contradiction:
            return None

    def _prove(self, chain: ChainModule, header: Header) -> Bytes32 | None:
        answer = chain.proof(self._hub, header.number)
        if answer is None or header.state_root is None:
            return None
        nodes = mapping(answer).get("accountProof")
        try:
            proof = [hex_bytes(node) for node in nodes] if isinstance(nodes, list) else []
            return storage_root(header.state_root, self._hub, proof)
        except ValueError as error:
            _check_still_there(chain, header)
            reason = f"an RPC endpoint proved nothing of block {header.number}: {error}"
            raise Contradiction(
                reason if isinstance(error, FalseProof) else "an RPC endpoint answered no proof"
            ) from None

    def logs(self, headers: Sequence[Header]) -> list[list[Log] | None]:
        """The Hub's logs of each of these blocks by its receipts; None where no endpoint shows them."""
        found: dict[Bytes32, list[Log]] = {header.hash: [] for header in headers if has_no_receipts(header)}
        open_ones = [header for header in headers if header.receipts_root is not None and header.hash not in found]
        for first in range(0, len(open_ones), BLOCKS_AT_ONCE):
            part = open_ones[first : first + BLOCKS_AT_ONCE]
            for _, logs in self._chain.answers(lambda chain, part=part: self._receipts(chain, part)):  # type: ignore[misc]
                if logs is not None:
                    found |= logs
                    break
        return [found.get(header.hash) for header in headers]

    def _receipts(self, chain: ChainModule, headers: Sequence[Header]) -> dict[Bytes32, list[Log]] | None:
        try:
            answers = chain.receipts([header.hash for header in headers])
        except AnswerTooLarge:  # a stranger may fill a block: the others are decided without it
            if len(headers) == 1:
                return None
            found = [self._receipts(chain, [header]) for header in headers]
            return {block: logs for each in found if each is not None for block, logs in each.items()}
        if answers is None or any(answer is None for answer in answers):
            return None
        return {
            header.hash: logs_of_receipts(header, answer, self._hub)
            for header, answer in zip(headers, answers, strict=True)
        }

    # ---------------------------------------------------------------- a stretch

    def decide(self, parent: Header, headers: Sequence[Header], logs: Sequence[Log]) -> Decided:
        """The logs of the blocks after ``parent``: each block that shows one, that endpoints show differently, or that
        is not later than the one before, is read by its receipts. Raises ``ChainUnavailable`` where no endpoint answers
        with those of the first block."""
        shown = {number: list(entries) for number, entries in groupby(logs, lambda entry: entry.block_number)}
        late = {child.number for before, child in pairwise([parent, *headers]) if child.time <= before.time}
        wanted = [each for each in headers if each.number in shown.keys() | late | self._disputed]
        undecided, covered = set[BlockNumber](), headers[-1].number
        for place in range(0, len(wanted), BLOCKS_AT_ONCE):
            part = wanted[place : place + BLOCKS_AT_ONCE]
            try:
                answers = self.logs(part)
            except ChainUnavailable:
                if part[0] == headers[0]:
                    raise
                covered = BlockNumber(part[0].number - 1)
                break
            for header, found in zip(part, answers, strict=True):
                if found is None:
                    undecided.add(header.number)
                elif found != shown.get(header.number, []):
                    self.blame(header.number, f"the receipts of block {header.number} hold other logs")
                    shown[header.number] = found
        self._disputed.difference_update(range(headers[0].number, covered + 1))
        decided = [entry for number in sorted(shown) if number <= covered for entry in shown[number]]
        return Decided(decided, frozenset(undecided), covered)

    def complete(
        self, known: Begun | None, headers: Sequence[Header], logs: Sequence[Log]
    ) -> tuple[StorageProof | None, list[Log]]:
        """The proof after the last block, and the logs with those that were found to be missing.

        ``known``: of the block before the first. Raises ``ChainUnavailable`` where something is missing and no endpoint
        shows it.
        """
        last, found = headers[-1], list(logs)
        newest = self.storage_root(last)
        if newest is None:
            return None, found
        places = {header.number: place for place, header in enumerate(headers)}
        with_logs = sorted({places[entry.block_number] for entry in logs})
        whole = known is not None
        for before, after in pairwise([-1, *with_logs, len(headers)]):
            run = headers[before + 1 : after]
            if not run:
                continue
            if before >= 0:
                began = self.storage_root(headers[before])
            else:
                began = known.storage_root if known is not None else None
            ended = newest if after == len(headers) else self.storage_root(run[-1])
            if began is not None and began == ended:
                continue
            more, all_read = self._read_whole(run, needed=began is not None and ended is not None)
            whole = whole and all_read
            found += more
        found.sort(key=lambda entry: (entry.block_number, entry.log_index))
        since = known.since if known is not None and whole else last.number
        return StorageProof(last.number, last.hash, newest, since), found

    def _read_whole(self, headers: Sequence[Header], *, needed: bool) -> tuple[list[Log], bool]:
        """The logs of blocks that showed none, by their receipts, and whether all of the blocks were read: the storage
        root after them is another than before (``needed``), or no endpoint proves it. Many are read only where it is
        needed.

        There may be none: a local node stores what was only read, and the receipts show that, too.
        """
        if not needed and len(headers) > BLOCKS_AT_ONCE:
            return [], False
        blocks = self.logs(headers)
        for header, logs in zip(headers, blocks, strict=True):
            if logs:
                self.blame(header.number, f"no log was shown of block {header.number}, which has some")
        all_read = all(logs is not None for logs in blocks)
        if needed and not all_read:
            first, last = headers[0].number, headers[-1].number
            if first == last:
                self.blame(first, f"block {first} changed the Hub's storage, and no log was shown")
            raise ChainUnavailable(f"the Hub's storage changed in blocks {first} to {last}, and no log shows why")
        return [entry for logs in blocks for entry in logs or ()], all_read


def _check_still_there(chain: ChainModule, header: Header) -> None:
    """Raise ``ChainUnavailable`` where the endpoint now shows another block of this number: the chain moved."""
    try:
        shown = chain.header(hex(header.number))
    except RpcRefused:
        shown = None
    if shown is None or shown.hash != header.hash:
        raise ChainUnavailable("the chain moved while its blocks were proven")
