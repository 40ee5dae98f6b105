"""The cost of reading a long history that is proven by its headers, by how full their filters are; and to compare it.

The history is made up here, headers with their true hashes included: a million blocks of a node would take hours. What
is measured is everything but the wire and the database: the queries, the bytes of their answers, and the processor.
"""

import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bounty_protocol.chain.endpoints import Endpoint
from bounty_protocol.chain.rpc import Call, Rpc
from bounty_protocol.types import Address, BlockNumber
from service_indexer.source import RpcSource
from service_indexer.stretch import BLOCKS_PER_STEP, read_stretch

from bench.figures import Figure, Report
from tests.indexer.wrong_answers import BLOCK, LOGS, sealed

MILLION: Final = 1_000_000
BLOCKS: Final = 40 * BLOCKS_PER_STEP
FILLED: Final = (5, 50, 99)
"""Percent of a filter's bits; those of Base's blocks are nearly all set."""
_HUB: Final = Address("0x" + "42" * 20)
_ROOT: Final = "0x" + "33" * 32
_WITHOUT: Final = "without proofs"


@dataclass
class History(Rpc):
    """A chain of quiet blocks whose filters have a part of their bits."""

    percent: int
    answers: int = 0
    bytes: int = 0
    seconds: float = 0.0
    """Of the processor, for making what a node would answer."""
    made: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(["http://127.0.0.1:9"])
        dice, parent = random.Random(self.percent), _ROOT  # noqa: S311  # no secret
        for number in range(BLOCKS + 1):
            block = self._block(number, parent, dice)
            self.made.append(block)
            parent = block["hash"]

    def _block(self, number: int, parent: str, dice: random.Random) -> dict[str, Any]:
        bits = sum(1 << bit for bit in range(2_048) if dice.random() * 100 < self.percent)
        names = ("stateRoot", "transactionsRoot", "receiptsRoot", "sha3Uncles", "mixHash")
        block = dict.fromkeys(names, _ROOT) | dict.fromkeys(("difficulty", "gasUsed"), "0x0")
        block |= {"number": hex(number), "parentHash": parent, "timestamp": hex(1_700_000_000 + 2 * number)}
        block |= {"miner": "0x" + "00" * 20, "gasLimit": "0x1c9c380", "extraData": "0x", "nonce": "0x" + "00" * 8}
        return sealed(block | {"logsBloom": "0x" + bits.to_bytes(256, "big").hex()})

    def ask(self, _endpoint: Endpoint, calls: Sequence[Call]) -> list[object]:
        began = time.process_time()
        found = [self._answer(method, params) for method, params in calls]
        self.answers += len(calls)
        self.bytes += len(json.dumps(found))
        self.seconds += time.process_time() - began
        return found

    def _answer(self, method: str, params: Sequence[Any]) -> object:
        if method == BLOCK:
            return self.made[int(params[0], 16)]
        if method == LOGS:
            return []
        raise NotImplementedError(method)


def blooms(report: Report) -> None:
    """Blocks in which nothing of the Hub happened, by how full their filters are: a backfill of a million of them, and
    one after the other at the tip, where a proof of the Hub's storage is one call more."""
    for percent in FILLED:
        history = History(percent)
        million, plain = (
            _read(history, final=BLOCKS, at_once=BLOCKS_PER_STEP, proven=proven).times(MILLION / BLOCKS)
            for proven in (True, False)
        )
        name = f"indexer.proof_bloom_{percent}"
        report(Figure(f"{name}_calls", million.calls, "calls/1M blocks", "informative", None, _WITHOUT, plain.calls))
        report(Figure(f"{name}_bytes", million.bytes / 1e9, "GB/1M blocks", "informative", None))
        report(Figure(f"{name}_cpu", million.seconds, "s/1M blocks", "informative", None, _WITHOUT, plain.seconds))
        block = _read(history, final=0, at_once=1, proven=True).times(1 / BLOCKS)
        report(Figure(f"{name}_tip_calls", block.calls, "calls/block", "informative", None))
        report(Figure(f"{name}_tip_bytes", block.bytes, "bytes/block", "informative", None))
        report(Figure(f"{name}_tip_cpu", block.seconds * 1_000, "ms/block", "informative", None))


@dataclass(frozen=True, slots=True)
class Cost:
    """Of reading some blocks."""

    calls: float
    bytes: float
    seconds: float

    def times(self, factor: float) -> "Cost":
        return Cost(self.calls * factor, self.bytes * factor, self.seconds * factor)


def _read(history: History, *, final: int, at_once: int, proven: bool) -> Cost:
    """Of all of its blocks, so many at a time."""
    source = RpcSource(history, _HUB, proven=proven)
    parent = source.header(BlockNumber(0))
    began, before = time.process_time(), (history.answers, history.bytes, history.seconds)
    while parent.number < BLOCKS:
        last = BlockNumber(min(BLOCKS, parent.number + at_once))
        parent = read_stretch(source, parent, last, BlockNumber(final)).headers[-1]
    spent = time.process_time() - began - (history.seconds - before[2])
    return Cost(history.answers - before[0], history.bytes - before[1], spent)
