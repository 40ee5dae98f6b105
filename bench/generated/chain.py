"""A generated chain as the indexer's follower reads it: each header and log is derived when it is asked for.

Blocks link, and all are final. Bounties begin one block after the other, so that each block holds a part of as many as
are open. Nothing is kept but the time that deriving took, which is not the indexer's.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Self

from bounty_protocol.chain.abi import hub_abi, snake_case
from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.events import Log
from bounty_protocol.chain.logs import ENOUGH_LOGS
from bounty_protocol.domain.lifecycle.hub_events import HubEvent
from bounty_protocol.domain.lifecycle.states import HubEnum
from bounty_protocol.types import BlockNumber, BountyId, Bytes32, to_bytes
from eth_abi.abi import encode
from service_indexer.chain import Glimpse, LogRange

from bench.generated.bounties import HUB, Population, first_events, hash_of, time_of


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of the clock, and of this process's processor."""

    wall: float
    cpu: float

    @classmethod
    def now(cls) -> Self:
        """Until now, from some moment on."""
        return cls(time.perf_counter(), time.process_time())

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.wall + other.wall, self.cpu + other.cpu)

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(self.wall - other.wall, self.cpu - other.cpu)

    def __truediv__(self, times: int) -> "Spent":
        return Spent(self.wall / times, self.cpu / times)


class GeneratedChain:
    """The chain of a population up to the block in which its last bounty is created; ``spent`` is what deriving
    took, ``log_count`` how many logs were answered."""

    def __init__(self, population: Population) -> None:
        self._population, self._timeline = population, population.timeline()
        self.last = population.last_block
        self.spent, self.log_count = Spent(0.0, 0.0), 0

    def glimpse(self, fact: BlockNumber | None) -> Glimpse:
        return Glimpse(_header(self.last), hash_of("root", self.last), None if fact is None else _header(fact).hash)

    def reached(self, newest: Header) -> BlockNumber:
        return newest.number

    def final(self) -> BlockNumber:
        return self.last

    def header(self, number: BlockNumber) -> Header:
        return _header(number)

    def logs(self, first: BlockNumber, last: BlockNumber) -> LogRange:
        logs, end = list[Log](), first
        with self._deriving():
            for number in range(first, last + 1):
                end = BlockNumber(number)
                logs += self._logs(_header(end))
                if len(logs) >= ENOUGH_LOGS:
                    break
            times = {log.block_number: time_of(log.block_number) for log in logs}
        self.log_count += len(logs)
        return LogRange(tuple(logs), times, _header(end))

    def open_bounties(self, ids: Sequence[BountyId], block: BlockNumber) -> list[Bytes32 | None]:  # noqa: ARG002  # the last
        return [self._population.open_page(each) for each in ids]

    def distrust(self) -> None:
        """There is one endpoint."""

    def _logs(self, header: Header) -> Iterator[Log]:
        for index, event in enumerate(self.events(header.number)):
            topics, data = encode_event(event)
            yield Log(HUB, header.number, header.hash, index, hash_of("tx", header.number, index), topics, data)

    def events(self, block: BlockNumber) -> Iterator[HubEvent]:
        """Yield the Hub's logs of a block."""
        if block == 1:
            yield from first_events()
        newest = block - 1
        for age, event_of in self._timeline:
            if 1 <= newest - age <= self._population.bounties and (event := event_of(newest - age)) is not None:
                yield event

    @contextmanager
    def _deriving(self) -> Iterator[None]:
        started = Spent.now()
        try:
            yield
        finally:
            self.spent += Spent.now() - started


def _header(number: BlockNumber) -> Header:
    return Header(number, hash_of("block", number), hash_of("block", number - 1), time_of(number))


def encode_event(event: HubEvent) -> tuple[tuple[Bytes32, ...], bytes]:
    """Return the topics and data with which the Hub logs an event. The library is for what is longer than a word alone:
    it takes longer than all that the indexer does with an event.
    """
    topic, indexed, plain = _codec(type(event).__name__)
    topics = (topic, *(Bytes32("0x" + _word(getattr(event, name))) for name, _ in indexed))
    if any(kind.endswith("[]") for _, kind in plain):
        return topics, encode([kind for _, kind in plain], [_raw(getattr(event, name)) for name, _ in plain])
    return topics, bytes.fromhex("".join(_word(getattr(event, name)) for name, _ in plain))


@cache
def _codec(name: str) -> tuple[Bytes32, list[tuple[str, str]], list[tuple[str, str]]]:
    """Return an event's topic, and name and type of what is in its topics and of what is in its data."""
    event = next(event for event in hub_abi().events.values() if event.name == name)
    indexed = [(snake_case(each.name), each.type) for each in event.inputs if each.indexed]
    plain = [(snake_case(each.name), each.type) for each in event.inputs if not each.indexed]
    return event.topic, indexed, plain


def _word(value: object) -> str:
    """Return a value of one word as 64 hexadecimal digits."""
    if isinstance(value, HubEnum):
        value = value.number
    return f"{value:064x}" if isinstance(value, int) else str(value)[2:].rjust(64, "0")


def _raw(value: object) -> object:
    """Return a value as the library for what is longer than a word takes it."""
    if isinstance(value, tuple):
        return [_raw(each) for each in value]
    return to_bytes(Bytes32(value)) if isinstance(value, str) and len(value) == 66 else value
