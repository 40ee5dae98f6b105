"""A stretch of the chain: consecutive blocks and the Hub's logs in them.

Each block links to the one before it. Logs of final blocks come by range and are held against the blocks' own filters,
logs of the others by block hash; where an endpoint shows receipts, they decide. A stretch ends earlier than requested
where there are many logs, and before what is not shown: what was read and checked up to there counts. From a provider
that often fails, the many requests of a long stretch are never all answered.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.endpoints import Endpoint
from bounty_protocol.chain.events import Log
from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.types import BlockNumber
from service_common.log import get_logger

from service_indexer.source import Source, bloom_tells

BLOCKS_PER_STEP: Final = 250
PROVEN_PER_STEP: Final = 60
"""Of blocks whose storage is proven: two questions for each that has a log, one after the other. From an endpoint that
takes seconds to answer, a longer stretch is never read in the life of a follower, and its successor begins anew."""

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Blocks in order, and their logs in order. ``checked``: every log is of a receipt of its block, and no block that
    might hide one was left undecided."""

    headers: list[Header]
    logs: list[Log]
    checked: bool = False


def read_stretch(
    source: Source, parent: Header, last: BlockNumber, final: BlockNumber, known: list[Header] | None = None
) -> Stretch:
    """The blocks after ``parent`` up to ``last``, or as far as they and their logs are shown.

    ``known`` are the headers of all of them, where they were read already. Raises ``ChainUnavailable`` where not even
    the first is shown.
    """
    first, settled = BlockNumber(parent.number + 1), BlockNumber(min(last, final))
    if last < first:
        return Stretch([], [])
    logs: list[Log] = []
    if settled >= first:
        answer = source.logs_of_range(first, settled)
        logs = answer.logs
        if answer.covered < settled:  # the stretch ends here, and needs no more headers
            last = settled = answer.covered
    headers = source.headers_from(first, last) if known is None else known[: last - parent.number]
    check_links([parent, *headers])
    logs = _up_to(headers[-1].number, logs)
    of_range = [header for header in headers if header.number <= settled]
    unsure = _unsure(source, of_range, logs)
    silent: dict[BlockNumber, list[Endpoint]] = {}
    if source.proofs is not None:
        silent = {number: source.proofs.shown_by(number) for number in unsure}
    by_hash = unsure | {header.number for header in headers[len(of_range) :]}
    headers, of_blocks = _read_by_hash(source, headers, by_hash)
    if missed := sorted({entry.block_number for entry in of_blocks} & unsure):
        log.warning("logs missing from a range", blocks=missed[:10])
    logs = sorted(
        [*_up_to(headers[-1].number, logs), *of_blocks], key=lambda entry: (entry.block_number, entry.log_index)
    )
    if source.proofs is None:
        return Stretch(headers, logs)
    decided = source.proofs.decide(parent, headers, logs)
    source.proofs.left_out(silent, decided)
    headers = [header for header in headers if header.number <= decided.covered]
    return Stretch(headers, decided.logs, checked=not decided.undecided)


def check_links(headers: list[Header]) -> None:
    """Raise ``ChainUnavailable`` unless each block is the next one's parent."""
    for parent, child in pairwise(headers):
        if child.parent_hash != parent.hash or child.number != parent.number + 1:
            raise ChainUnavailable("the chain moved while its blocks were read")


def _up_to(last: BlockNumber, logs: list[Log]) -> list[Log]:
    return [entry for entry in logs if entry.block_number <= last]


def _unsure(source: Source, headers: list[Header], logs: list[Log]) -> set[BlockNumber]:
    """Blocks of a range of finalized ones that may have logs which the range does not show: to be requested again.

    Raises ``ChainUnavailable`` where a log is of another block than these.
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
    return {
        header.number
        for header in headers
        if header.number not in shown and (source.proofs is None or bloom_tells(header.logs_bloom))
    }


def _read_by_hash(source: Source, headers: list[Header], wanted: set[BlockNumber]) -> tuple[list[Header], list[Log]]:
    """These blocks up to the first of the ``wanted`` ones whose logs are not shown, and the logs of those before it."""
    logs: list[Log] = []
    for place, header in enumerate(headers):
        if header.number not in wanted:
            continue
        try:
            logs += source.logs_of_block(header)
        except ChainUnavailable:
            if place == 0:
                raise
            return headers[:place], logs
    return headers, logs
