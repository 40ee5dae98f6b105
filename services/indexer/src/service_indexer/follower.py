"""One move of the copy towards the chain: the whole algorithm, as text.

After ``advance`` returns, the copy equals a replay of the chain up to the block it names. A reorg above the finalized
block is repaired in the same step; one below it halts the copy, because finalized facts were acted upon. So does a
finalized log that this release does not know: the Hub is of another release.
"""

import time
from dataclasses import dataclass, replace
from typing import Final

from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.events import UnknownLog
from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.types import BlockNumber
from psycopg import DataError, IntegrityError
from service_common.db.hub_reads import Head
from service_common.log import get_logger

from service_indexer.proving import NEAR, Begun, Proofs, StorageProof
from service_indexer.source import Source, Tip
from service_indexer.stretch import BLOCKS_PER_STEP, PROVEN_PER_STEP, Stretch, check_links, read_stretch
from service_indexer.writer import CopyStep, ProvenHead, Standing, Writer

MIN_PAUSE_SECONDS: Final = 0.1
MAX_PAUSE_SECONDS: Final = 1.0
MAX_PAUSE_AFTER_BLOCK_SECONDS: Final = 2.0
REST_SECONDS: Final = 5.0
"""How long a copy that equals the chain is not read again while the chain stays as it was."""
_LONGEST_STRIDE: Final = 64
"""Blocks that are compared at once where a reorg is deep; each look back is twice as long as the one before."""

log = get_logger(__name__)


class Halted(Exception):
    """The chain contradicts what was finalized, or is of another release; an operator has to decide."""


@dataclass
class Rest:
    """The tip that a follower's copy equalled last, so that looking for a block costs no query of the database.

    Only for its one writer; a step that is not at rest reads the head, and checks the fence. ``alone``: one endpoint's
    word is enough, so that the header of the next block is taken as the tip showed it. ``reached`` is whether the last
    step came to a new block that is the tip.
    """

    alone: bool = False
    reached: bool = False
    _tip: Tip | None = None
    _ends: float = float("-inf")

    def at(self, tip: Tip) -> bool:
        """Whether the copy was seen to equal this tip a moment ago."""
        return tip == self._tip and time.monotonic() < self._ends

    def note(self, tip: Tip, *, reached: bool = False) -> None:
        """The copy equals this tip."""
        self.reached, self._tip, self._ends = reached, tip, time.monotonic() + REST_SECONDS

    def leave(self) -> Tip | None:
        """The copy may differ from the tip; the one that it equalled before."""
        before, self.reached, self._tip = self._tip, False, None
        return before


def advance(source: Source, writer: Writer, rest: Rest | None = None) -> bool:
    """Take one step; True when there was something to do. ``rest`` is kept by a caller that looks often."""
    rest = rest or Rest()
    tip = source.tip()
    if rest.at(tip):
        return False
    before = rest.leave()
    standing = writer.standing(tip.finalized.number if tip.finalized else BlockNumber(0))
    if standing is None:
        raise Halted("the copy has no start")
    head = standing.head
    if head.halted is not None:
        raise Halted(head.halted)
    if tip.latest.number < head.finalized_number:
        raise ChainUnavailable("an RPC endpoint is behind what is already final")
    final = BlockNumber(max(head.finalized_number, tip.finalized.number if tip.finalized else 0))
    if tip.latest.hash == head.block_hash and final == head.finalized_number:
        rest.note(tip)
        return False
    ancestor = before.latest if rest.alone and before is not None and _is_next(tip, before, head) else None
    latest = _move(source, writer, standing, tip, final, ancestor)
    if latest is not None and latest.hash == tip.latest.hash:
        rest.note(tip, reached=head.block_hash != latest.hash)
    return latest is not None


def pause_between_looks(block_time_seconds: float) -> float:
    """Eight looks a block: soon enough for those who wait, and bearable for an endpoint that counts requests."""
    return min(MAX_PAUSE_SECONDS, max(MIN_PAUSE_SECONDS, block_time_seconds / 8))


def pause_after_block(block_time_seconds: float) -> float:
    """Until the first look for the next block: a chain rarely has one before seven eighths of its block time."""
    return max(pause_between_looks(block_time_seconds), min(MAX_PAUSE_AFTER_BLOCK_SECONDS, block_time_seconds * 7 / 8))


def _is_next(tip: Tip, before: Tip, head: Head) -> bool:
    """Whether the newest block is the child of the copy's own head, which was the tip before."""
    latest, parent = tip.latest, before.latest
    return head.block_hash == parent.hash == latest.parent_hash and latest.number == parent.number + 1


def _move(
    source: Source,
    writer: Writer,
    standing: Standing,
    tip: Tip,
    final: BlockNumber,
    parent: Header | None,
) -> Header | None:
    """The step itself; where the copy is now, and None where an endpoint that is behind left nothing to do. ``parent``
    is the header of the copy's head where the tip is the next block."""
    head = standing.head
    # 1. Where the copy and the chain still agree.
    ancestor = parent or _common_ancestor(source, writer, head, tip)
    if ancestor.number == tip.latest.number and ancestor.hash != tip.latest.hash:
        raise ChainUnavailable("an RPC endpoint shows another newest block than the chain has there")
    if ancestor.number == tip.latest.number < head.block_number:
        return None  # an endpoint that is behind on the same chain: nothing to retract
    # 2. The next stretch of the chain above it, with its logs.
    last = BlockNumber(min(tip.latest.number, ancestor.number + _blocks_of_step(source, ancestor, tip)))
    retract = ancestor.hash != head.block_hash
    if retract:
        stretch = read_stretch(source, ancestor, last, final, _replacing(source, writer, ancestor, last, tip))
    else:
        read = [tip.latest] if parent is not None else None
        stretch = read_stretch(source, ancestor, last, final, read)
        _check_branch(stretch.headers, tip)
    # 3. That nothing is missing in it, where that can be shown.
    known = standing.proven if ancestor.number == head.block_number else writer.known(ancestor.number)
    stretch, proof = _proven(source, writer, known, ancestor, stretch, tip, retract=retract)
    # 4. One transaction.
    latest = stretch.headers[-1] if stretch.headers else ancestor
    finalized = _newest_final(standing, tip, [ancestor, *stretch.headers])
    step = CopyStep(
        ancestor.number,
        stretch.headers,
        stretch.logs,
        latest,
        finalized,
        tip.latest.number,
        retract,
        stretch.checked,
        proof,
    )
    try:
        writer.apply(step)
    except UnknownLog as unknown:
        reason = f"{unknown}: it is of another release; use the release made for it, then rebuild the copy"
        if unknown.block <= final:  # below that an endpoint may still show another chain
            writer.halt(reason)
        raise Halted(reason) from unknown
    except (ValueError, DataError, IntegrityError) as error:  # one that no receipt decides is an endpoint's word
        why = type(error).__name__
        raise ChainUnavailable(f"an RPC endpoint listed a log that the Hub cannot emit ({why})") from error
    if ancestor.number < head.block_number:
        log.warning("reorg repaired", ancestor=ancestor.number, depth=head.block_number - ancestor.number)
    return latest


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
        high, stride = BlockNumber(low - 1), min(2 * stride, _LONGEST_STRIDE)
    reason = (
        f"the chain shows another block {head.finalized_number} than the one this copy saw finalized; "
        "check the RPC endpoints, then rebuild the copy"
    )
    writer.halt(reason)
    raise Halted(reason)


def _blocks_of_step(source: Source, ancestor: Header, tip: Tip) -> int:
    """How many blocks one step reads at most."""
    is_near = tip.latest.number - ancestor.number <= NEAR + BLOCKS_PER_STEP
    return PROVEN_PER_STEP if source.proofs is not None and is_near else BLOCKS_PER_STEP


def _replacing(source: Source, writer: Writer, ancestor: Header, last: BlockNumber, tip: Tip) -> list[Header]:
    """The headers above ``ancestor``, whole, in place of the copy's own blocks there.

    Several nodes may answer behind one address: raises ``ChainUnavailable`` where they show the copy's own block after
    all, or a branch that does not lead to the newest one. A retraction is reported to others.
    """
    first = BlockNumber(ancestor.number + 1)
    headers = source.headers(first, last)
    if writer.hashes(first, first).get(first) == headers[0].hash:
        raise ChainUnavailable(f"what RPC endpoints show of block {first} does not fit together")
    check_links([ancestor, *headers])
    _check_branch(headers, tip)
    return headers


def _check_branch(headers: list[Header], tip: Tip) -> None:
    """Raise ``ChainUnavailable`` where these reach the newest block's number with another block."""
    if headers and headers[-1].number == tip.latest.number and headers[-1].hash != tip.latest.hash:
        raise ChainUnavailable("the chain moved while its blocks were read")


def _proven(
    source: Source,
    writer: Writer,
    known: ProvenHead | None,
    ancestor: Header,
    stretch: Stretch,
    tip: Tip,
    *,
    retract: bool,
) -> tuple[Stretch, StorageProof | None]:
    """The stretch with the logs that were missing in it, and the Hub's storage root after it where that is proven."""
    if source.proofs is None or not stretch.headers or tip.latest.number - stretch.headers[-1].number > NEAR:
        return stretch, None
    begun = _begun(source.proofs, writer, known, ancestor)
    proof, logs = source.proofs.complete(begun, stretch.headers, stretch.logs)
    if proof is None:
        return replace(stretch, logs=logs), None
    quiet = known is not None and known.quiet and not logs and not retract
    if known is not None and quiet and proof.storage_root == known.proof.storage_root:
        # Nothing was logged since the proof before, which may be of an older block, and nothing changed until now.
        proof = replace(proof, since=known.proof.since)
    if not stretch.checked:
        proof = replace(proof, since=proof.number)
    return replace(stretch, logs=logs), proof


def _begun(proofs: Proofs, writer: Writer, known: ProvenHead | None, ancestor: Header) -> Begun | None:
    """The proven state of the block at which a stretch begins."""
    if known is not None and known.proof.hash == ancestor.hash:
        return Begun(known.proof.since, known.proof.storage_root)
    above = writer.first_proof_above(ancestor.number)  # of a branch that is left: what is below was whole in it, too
    if above is None or above.since > ancestor.number:
        return None
    return Begun(above.since, proofs.storage_root(ancestor))


def _newest_final(standing: Standing, tip: Tip, covered: list[Header]) -> Header | None:
    """The newest block of the copy that is known to be final; None where the endpoints agree on none.

    Raises ``ChainUnavailable`` where it is not the block that they agree on: what is final is acted upon.
    """
    final = tip.finalized
    if final is None or final.number < standing.head.finalized_number:
        return None
    if final.number > covered[-1].number:
        return covered[-1]
    hashes = {header.number: header.hash for header in covered}
    own = hashes.get(final.number) or standing.final_hash
    if own != final.hash:
        raise ChainUnavailable("an RPC endpoint shows another final block than the one agreed upon")
    return final
