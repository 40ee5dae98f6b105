"""One move of the copy towards the chain: the whole algorithm, as text.

Promises: after ``advance`` returns, the copy equals a replay of the chain up to the block it names. A reorg above the
finalized block is repaired in the same step; one below it halts the copy, because finalized facts were acted upon.
"""

from itertools import pairwise
from typing import Final

from service_common.chain.blocks import Header
from service_common.chain.events import Log
from service_common.chain.json_rpc import ChainUnavailable
from service_common.db.hub_reads import Head
from service_common.log import get_logger
from service_common.types import BlockNumber

from service_indexer.source import Source, Tip
from service_indexer.writer import Step, Writer

BLOCKS_PER_STEP: Final = 250
_ANCESTOR_STRIDE: Final = 64

log = get_logger(__name__)


class Halted(Exception):
    """The chain contradicts what was finalized; an operator has to decide."""


def advance(source: Source, writer: Writer) -> bool:
    """Take one step; True when there was something to do."""
    head = writer.head()
    if head is None:
        raise Halted("the copy has no start")
    if head.halted is not None:
        raise Halted(head.halted)
    tip = source.tip()
    if tip.latest.number < head.finalized_number:
        raise ChainUnavailable("an RPC endpoint is behind what is already final")
    final = max(head.finalized_number, tip.finalized.number if tip.finalized else 0)
    if tip.latest.hash == head.block_hash and final == head.finalized_number:
        return False
    # 1. Where the copy and the chain still agree.
    ancestor = _common_ancestor(source, writer, head, tip)
    if ancestor.number == tip.latest.number < head.block_number:
        return False  # an endpoint that is behind on the same chain: nothing to retract
    # 2. The next stretch of the chain above it.
    last = BlockNumber(min(tip.latest.number, ancestor.number + BLOCKS_PER_STEP))
    headers = source.headers(BlockNumber(ancestor.number + 1), last) if last > ancestor.number else []
    _check_links([ancestor, *headers])
    # 3. Its logs: by range where they cannot change, by block hash where they can. Many logs end the stretch earlier.
    headers, logs = _logs(source, headers, BlockNumber(final))
    # 4. One transaction.
    latest = headers[-1] if headers else ancestor
    finalized = _newest_final(tip, latest)
    writer.apply(Step(ancestor.number, headers, logs, latest, finalized, retract=ancestor.hash != head.block_hash))
    if ancestor.number < head.block_number:
        log.warning("reorg repaired", ancestor=ancestor.number, depth=head.block_number - ancestor.number)
    return True


def _common_ancestor(source: Source, writer: Writer, head: Head, tip: Tip) -> Header:
    """The newest block that the copy and the chain share; usually the copy's own head."""
    high = BlockNumber(min(head.block_number, tip.latest.number))
    stride = 1
    while high >= head.finalized_number:
        low = BlockNumber(max(head.finalized_number, high - stride + 1))
        kept = writer.hashes(low, high)
        for header in reversed(source.headers(low, high)):
            if kept.get(header.number) == header.hash:
                return header
        high, stride = BlockNumber(low - 1), _ANCESTOR_STRIDE
    reason = (
        f"the chain shows another block {head.finalized_number} than the one this copy saw finalized; "
        "check the RPC endpoints, then rebuild the copy"
    )
    writer.halt(reason)
    raise Halted(reason)


def _newest_final(tip: Tip, latest: Header) -> Header | None:
    """The newest block of the copy that is known to be final; None where the endpoints agree on none."""
    if tip.finalized is None:
        return None
    return tip.finalized if tip.finalized.number <= latest.number else latest


def _logs(source: Source, headers: list[Header], final: BlockNumber) -> tuple[list[Header], list[Log]]:
    """The stretch as far as its logs were read, and the logs."""
    settled = [header for header in headers if header.number <= final]
    if settled:
        covered, logs = _settled_logs(source, settled)
        if len(covered) < len(settled):
            return covered, logs
    else:
        logs = []
    for header in headers[len(settled) :]:
        logs += source.logs_of_block(header)
    return headers, logs


def _settled_logs(source: Source, settled: list[Header]) -> tuple[list[Header], list[Log]]:
    """Logs of finalized blocks, from a range, held against the blocks' own filters."""
    answer = source.logs_of_range(settled[0].number, settled[-1].number)
    covered = [header for header in settled if header.number <= answer.covered]
    logs, hashes = answer.logs, {header.number: header.hash for header in covered}
    if any(hashes.get(entry.block_number) != entry.block_hash for entry in logs):
        raise ChainUnavailable("an RPC endpoint answered logs that do not belong to its own blocks")
    # A block whose filter admits the Hub and that shows no log is asked for again by its hash: an endpoint that
    # silently leaves a block's logs out is noticed. (A filter may admit by chance; then there is none, indeed.)
    shown = {entry.block_number for entry in logs}
    missed = [entry for header in covered if header.number not in shown for entry in source.logs_of_block(header)]
    if missed:
        log.warning("logs missing from a range", blocks=sorted({entry.block_number for entry in missed})[:10])
        logs = sorted([*logs, *missed], key=lambda entry: (entry.block_number, entry.log_index))
    return covered, logs


def _check_links(headers: list[Header]) -> None:
    for parent, child in pairwise(headers):
        if child.parent_hash != parent.hash:
            raise ChainUnavailable("the chain moved while its blocks were read")
