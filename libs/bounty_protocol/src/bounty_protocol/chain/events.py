"""Logs of the Hub, and the events behind them."""

from dataclasses import dataclass
from typing import cast

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.rpc import (
    ChainUnavailable,
    account_of,
    block_number,
    hash_of,
    hex_bytes,
    mapping,
    quantity,
)
from bounty_protocol.domain.lifecycle.hub_events import EVENT_CLASSES, HubEvent, Origin, event_of
from bounty_protocol.types import Address, BlockNumber, Bytes32, UnixSeconds


class UnknownLog(ValueError):
    """A log that no event of this release's Hub has."""

    def __init__(self, block: BlockNumber) -> None:
        super().__init__(f"block {block} has a log that the Hub of this release does not emit")
        self.block = block


@dataclass(frozen=True, slots=True)
class Log:
    """A log of the Hub as the chain reports it."""

    address: Address
    block_number: BlockNumber
    block_hash: Bytes32
    log_index: int
    tx_hash: Bytes32
    topics: tuple[Bytes32, ...]
    data: bytes

    def origin(self, time: UnixSeconds) -> Origin:
        """Return the place of the log in the chain, with the time of its block."""
        return Origin(self.block_number, self.block_hash, self.log_index, self.tx_hash, time)


def decode_log(log: Log) -> HubEvent:
    """Decode a log of the Hub; ``UnknownLog`` if the Hub has no such event, ``ValueError`` if it is malformed."""
    event = hub_abi().events.get(log.topics[0]) if log.topics else None
    if event is None or event.name not in EVENT_CLASSES:
        raise UnknownLog(log.block_number)
    return event_of(EVENT_CLASSES[event.name], event.decode(log.topics, log.data))


def parse_log(answer: object) -> Log:
    """Parse a log from ``eth_getLogs`` or a receipt; ``ChainUnavailable`` if it is malformed."""
    fields = mapping(answer)
    topics = cast("list[object]", fields["topics"])  # as ``rpc_answers`` read it
    try:
        data = hex_bytes(fields.get("data"))
    except ValueError as error:
        raise ChainUnavailable("an RPC endpoint returned a log with malformed data") from error
    return Log(
        address=account_of(fields.get("address")),
        block_number=block_number(fields.get("blockNumber")),
        block_hash=hash_of(fields.get("blockHash")),
        log_index=quantity(fields.get("logIndex")),
        tx_hash=hash_of(fields.get("transactionHash")),
        topics=tuple(hash_of(topic) for topic in topics),
        data=data,
    )
