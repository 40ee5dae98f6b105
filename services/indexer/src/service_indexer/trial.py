"""How many calls a day following the chain takes, found by following it: the real follower goes over the newest blocks
with a copy that only remembers, and the calls of each step are counted.
"""

from dataclasses import dataclass, replace
from typing import Final

from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.endpoints import TOLERATED_LAG
from bounty_protocol.chain.json_rpc import ChainUnavailable
from bounty_protocol.types import BlockNumber, Bytes32
from service_common.db.hub_reads import Head

from service_indexer.config import ReadingSettings
from service_indexer.follower import advance, pause_between_looks
from service_indexer.patient_rpc import PatientRpc
from service_indexer.proving import Proofs, StorageProof
from service_indexer.source import COMPARE_SECONDS, RangeLogs, RpcSource, Tip
from service_indexer.writer import CopyStep, ProvenHead, Standing

DAY_SECONDS: Final = 86_400
BLOCKS: Final = 6
"""Followed one by one; the first only begins."""


@dataclass(frozen=True, slots=True)
class TrialPart:
    """What one task of the index takes of a day."""

    name: str
    calls: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """Calls of a day at most: the time that answers take is not counted."""

    parts: tuple[TrialPart, ...]

    @property
    def calls(self) -> int:
        """All of them."""
        return sum(part.calls for part in self.parts)


class Remembered:
    """A copy that remembers how far it is and nothing else."""

    def __init__(self, reading: ReadingSettings, start: Header, finalized: Header) -> None:
        self._hashes = {start.number: start.hash}
        self._proof: ProvenHead | None = None
        self._head = Head(
            chain_id=reading.chain.chain_id,
            hub_address=reading.chain.hub_address,
            block_number=start.number,
            block_hash=start.hash,
            block_time=start.time,
            finalized_number=BlockNumber(min(start.number, finalized.number)),
            finalized_time=min(start.time, finalized.time),
            halted=None,
            tip_number=start.number,
            reorg_count=0,
            deepest_reorg=0,
            proven_number=None,
        )

    def standing(self, final: BlockNumber) -> Standing | None:
        return Standing(self._head, self._proof, self._hashes.get(final))

    def hashes(self, first: BlockNumber, last: BlockNumber) -> dict[BlockNumber, Bytes32]:
        return {number: kept for number, kept in self._hashes.items() if first <= number <= last}

    def known(self, until: BlockNumber) -> ProvenHead | None:
        return self._proof if self._proof is not None and self._proof.proof.number <= until else None

    def first_proof_above(self, number: BlockNumber) -> StorageProof | None:  # noqa: ARG002  # nothing is retracted
        return None

    def apply(self, step: CopyStep) -> None:
        self._hashes |= {header.number: header.hash for header in step.headers}
        if step.proof is not None:
            self._proof = ProvenHead(step.proof, quiet=not step.logs)
        latest, final = step.latest, step.finalized
        self._head = replace(
            self._head,
            block_number=latest.number,
            block_hash=latest.hash,
            block_time=latest.time,
            finalized_number=max(self._head.finalized_number, final.number if final else BlockNumber(0)),
        )

    def halt(self, reason: str) -> None:
        raise ChainUnavailable(reason, cause=reason)


class _UpTo:
    """A chain that ends at a block, as it did when that was its newest one."""

    def __init__(self, real: RpcSource, last: Header) -> None:
        self._real, self._last = real, last
        self.headers, self.headers_from, self.logs_of_block = real.headers, real.headers_from, real.logs_of_block

    def tip(self) -> Tip:
        finalized = self._real.tip().finalized
        is_above = finalized is not None and finalized.number > self._last.number
        return Tip(self._last, self._last if is_above else finalized)

    def logs_of_range(self, first: BlockNumber, last: BlockNumber) -> RangeLogs:
        return self._real.logs_of_range(first, last)

    @property
    def proofs(self) -> Proofs | None:
        return self._real.proofs


def estimate(rpc: PatientRpc, reading: ReadingSettings) -> Estimate:
    """Follow the newest blocks and count; raises ``ChainUnavailable`` where the index could not follow them."""
    source = RpcSource(rpc, reading.chain.hub_address, 1, reading.chain.finality_depth, proven=reading.proofs)
    tip = source.tip()
    finalized = tip.finalized or tip.latest
    last = BlockNumber(max(0, tip.latest.number - TOLERATED_LAG))  # each of its nodes has them
    start, *headers = source.headers(BlockNumber(max(0, last - BLOCKS)), last)
    copy, steps = Remembered(reading, start, finalized), list[int]()
    for header in headers:
        before = rpc.calls
        advance(_UpTo(source, header), copy)
        steps.append(rpc.calls - before)
    before = rpc.calls
    source.tip()
    look = rpc.calls - before
    followed = steps[1:] or steps or [look]
    blocks = DAY_SECONDS / reading.chain.block_time_seconds
    parts = [
        TrialPart(
            "looking for blocks", round(DAY_SECONDS / pause_between_looks(reading.chain.block_time_seconds) * look)
        ),
        TrialPart("reading them", round(blocks * max(0.0, sum(followed) / len(followed) - look))),
        TrialPart("comparing the index", reading.compare_calls),
    ]
    if reading.rpc_quorum > 1:
        parts.append(TrialPart("comparing endpoints", round(DAY_SECONDS / COMPARE_SECONDS * look)))
    return Estimate(tuple(parts))
