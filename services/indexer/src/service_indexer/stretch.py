"""A stretch of the chain: consecutive blocks and the Hub's logs in them.

Each block links to the one before it. Logs of final blocks come by range and are held against the blocks' own filters,
logs of the others by block hash; where an endpoint shows receipts, they decide. A stretch ends earlier than requested
where there are many logs.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.endpoints import Endpoint
from bounty_protocol.chain.events import Log
from bounty_protocol.chain.json_rpc import ChainUnavailable
from bounty_protocol.types import BlockNumber
from service_common.log import get_logger

from service_indexer.source import Source, bloom_tells

BLOCKS_PER_STEP: Final = 250

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Blocks in order, and their logs in order. ``checked``: every log is of a receipt of its block, and no block that
    might hide one was left undecided."""

    headers: list[Header]
    logs: list[Log]
    checked: bool = False


def read_stretch(
    source: Source, parent: Header, last: BlockNumber, final: BlockNumber, known: Header | None = None
) -> Stretch:
    """The blocks after ``parent`` up to ``last``, or as far as their logs were read.

    ``known`` is the header of the only one, where it was read already.
    """
    first, settled = BlockNumber(parent.number + 1), BlockNumber(min(last, final))
    logs: list[Log] = []
    if settled >= first:
        answer = source.logs_of_range(first, settled)
        logs = answer.logs
        if answer.covered < settled:  # many logs: the stretch ends here, and needs no more headers
            last = settled = answer.covered
    headers = [known] if known is not None else source.headers(first, last) if last >= first else []
    check_links([parent, *headers])
    silent = dict[BlockNumber, list[Endpoint]]()
    logs = _held_against(source, [header for header in headers if header.number <= settled], logs, silent)
    for header in headers:
        if header.number > settled:
            logs += source.logs_of_block(header)
    if source.proofs is None or not headers:
        return Stretch(headers, logs)
    decided = source.proofs.decide(parent, headers, logs)
    source.proofs.left_out(silent, decided)
    return Stretch(headers, decided.logs, checked=not decided.undecided)


def check_links(headers: list[Header]) -> None:
    """Raise ``ChainUnavailable`` unless each block is the next one's parent."""
    for parent, child in pairwise(headers):
        if child.parent_hash != parent.hash or child.number != parent.number + 1:
            raise ChainUnavailable("the chain moved while its blocks were read")


def _held_against(
    source: Source, headers: list[Header], logs: list[Log], silent: dict[BlockNumber, list[Endpoint]]
) -> list[Log]:
    """Logs of a range of finalized blocks, held against the blocks' hashes and filters; in order, none missing.

    ``silent`` gets the blocks that were requested again, with who had listed nothing of them.
    """
    hashes = {header.number: header.hash for header in headers}
    foreign = [entry for entry in logs if hashes.get(entry.block_number) != entry.block_hash]
    if foreign:
        if source.proofs is not None:
            source.proofs.blame(foreign[0].block_number, "it answered logs that do not belong to the final blocks")
        raise ChainUnavailable("an RPC endpoint answered logs that do not belong to its own blocks")
    # A block whose filter admits the Hub and that shows no log is requested again by its hash: an endpoint that
    # silently leaves a block's logs out is noticed. (A filter may admit by chance; then there is indeed none.) A filter
    # that is nearly full admits everything, as on Base: that would be a request for each block, and proofs show more.
    shown = {entry.block_number for entry in logs}
    wanted = [header for header in headers if header.number not in shown]
    if source.proofs is not None:
        wanted = [header for header in wanted if bloom_tells(header.logs_bloom)]
        silent |= {header.number: source.proofs.shown_by(header.number) for header in wanted}
    missed = [entry for header in wanted for entry in source.logs_of_block(header)]
    if not missed:
        return logs
    log.warning("logs missing from a range", blocks=sorted({entry.block_number for entry in missed})[:10])
    return sorted([*logs, *missed], key=lambda entry: (entry.block_number, entry.log_index))
