"""What happened on chain, found by looking: receipts that are really part of the chain, and the Hub's own logs.

Promises: a receipt counts only for the transaction that was asked about, in a block that the chain holds at that
height; a fact of the Hub is found by its event, whoever sent the transaction and whatever became of its receipt.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from service_common.chain.abi import hub_abi
from service_common.chain.blocks import header_at
from service_common.chain.events import HubEvent, decode_log, parse_log
from service_common.chain.json_rpc import ChainUnavailable, block_number, hash_of, mapping, quantity
from service_common.types import Address, BlockNumber, BountyId, Bytes32, bytes32

from service_cli.chain.session import ChainClient, chain_errors

LOG_RANGE: Final = 5_000
"""Blocks per ``eth_getLogs``: what public endpoints serve in one answer."""
E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Receipt:
    """A transaction in a block. ``events`` are the Hub's; empty where only the fact was found."""

    tx_hash: Bytes32
    block_number: BlockNumber
    events: tuple[HubEvent, ...]
    succeeded: bool = True


Fact = Callable[[BlockNumber], Receipt | None]
"""Looks for what a transaction was to bring about, from a block on."""


def receipt_of(chain: ChainClient, tx_hash: Bytes32) -> Receipt | None:
    """The receipt, when it is this transaction's and its block is part of the chain."""
    with chain_errors():
        answer = chain.rpc.call("eth_getTransactionReceipt", tx_hash)
        if answer is None:
            return None
        fields = mapping(answer)
        number = block_number(fields.get("blockNumber"))
        if hash_of(fields.get("transactionHash")) != tx_hash:
            raise ChainUnavailable("an RPC endpoint answered another transaction's receipt")
        if header_at(chain.rpc, number).hash != hash_of(fields.get("blockHash")):
            return None
        logs = fields.get("logs")
        events = tuple(
            decode_log(log)
            for log in map(parse_log, logs if isinstance(logs, list) else [])
            if log.address == chain.hub.address
        )
        return Receipt(tx_hash, number, events, quantity(fields.get("status")) == 1)


def find_event(
    chain: ChainClient,
    kind: type[E],
    start: BlockNumber,
    matches: Callable[[E], bool],
    topics: Sequence[Bytes32 | None] = (),
) -> Receipt | None:
    """The newest transaction since ``start`` with such an event of the Hub."""
    topic = next(topic for topic, event in hub_abi().events.items() if event.name == kind.__name__)
    found: Receipt | None = None
    with chain_errors():
        head = quantity(chain.rpc.call("eth_blockNumber"))
        first = int(start)
        while first <= head:
            last = min(head, first + LOG_RANGE - 1)
            wanted = {"address": chain.hub.address, "fromBlock": hex(first), "toBlock": hex(last)}
            answer = chain.rpc.call("eth_getLogs", {**wanted, "topics": [topic, *topics]})
            if not isinstance(answer, list):
                raise ChainUnavailable("an RPC endpoint answered no list of logs")
            for log in map(parse_log, answer):
                event = decode_log(log)
                if log.address == chain.hub.address and isinstance(event, kind) and matches(event):
                    found = Receipt(log.tx_hash, log.block_number, (event,))
            first = last + 1
    return found


def bounty_topic(bounty_id: BountyId) -> Bytes32:
    """A bounty id as an indexed topic."""
    return bytes32(bounty_id.to_bytes(32, "big"))


def account_topic(account: Address) -> Bytes32:
    """An account as an indexed topic."""
    return Bytes32("0x" + account[2:].rjust(64, "0"))


def first_block(chain: ChainClient) -> BlockNumber | None:
    """Where the Hub's log begins, if that is known; a local chain is short."""
    if chain.is_local:
        return BlockNumber(0)
    record = chain.settings.record
    return record.deploy_block if record is not None and record.hub_address == chain.hub.address else None
