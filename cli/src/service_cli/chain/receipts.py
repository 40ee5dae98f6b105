"""Results on chain: receipts that are really part of the chain, and the logs of the Hub and its token.

A receipt counts only for the transaction it was requested for, in a block that the chain holds at that height. What a
transaction brings about is found by its event, no matter who sent the transaction and what became of its receipt.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, TypeVar

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.blocks import block_before, header_at
from bounty_protocol.chain.endpoints import TOLERATED_SECONDS
from bounty_protocol.chain.events import Log, decode_log, parse_log
from bounty_protocol.chain.logs import logs_of_range
from bounty_protocol.chain.rpc import Call, ChainUnavailable, block_number, hash_of, mapping, quantity
from bounty_protocol.domain.lifecycle.hub_events import HubEvent
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, bytes32

from service_cli.chain.session import ChainClient, chain_errors

RECENT_SECONDS: Final = 86_400
"""How far back logs are read for what cannot be older: an escrow of a page that is missed could be paid twice."""
E = TypeVar("E")
Topics = Sequence[Bytes32 | None]


@dataclass(frozen=True, slots=True)
class Receipt:
    """A transaction in a block. ``events`` are the Hub's; where it was found by its event, only that one."""

    tx_hash: Bytes32
    block_number: BlockNumber
    block_hash: Bytes32
    events: tuple[HubEvent, ...]
    succeeded: bool = True
    topics: tuple[Topics, ...] = ()
    """Those of each event's log, in the order of ``events``."""


@dataclass(frozen=True, slots=True)
class ExpectedEvent(Generic[E]):
    """An event of the Hub that proves what a transaction was to bring about.

    ``topics`` are the indexed arguments in their order; ``since`` is the block to look from, where that is another than
    the tip before the transaction was signed.
    """

    kind: type[E]
    topics: Topics = ()
    matches: Callable[[E], bool] = lambda _event: True
    since: BlockNumber | None = None

    def found(self, chain: ChainClient, start: BlockNumber) -> Iterator[tuple[Log, E]]:
        """Yield each such event from ``since``, else ``start``, in the order of the chain."""
        first = start if self.since is None else self.since
        for log, event in hub_events(chain, first, self._wanted()):
            if isinstance(event, self.kind) and self.matches(event):
                yield log, event

    def newest(self, chain: ChainClient, start: BlockNumber) -> Receipt | None:
        """Return the newest transaction with such an event."""
        receipt = None
        for log, event in self.found(chain, start):
            if isinstance(event, HubEvent):
                receipt = Receipt(log.tx_hash, log.block_number, log.block_hash, (event,), topics=(log.topics,))
        return receipt

    def proven_by(self, receipt: Receipt) -> bool:
        """Return whether a receipt has such an event: a receipt that only states success proves nothing."""
        return any(
            isinstance(event, self.kind) and self.matches(event) and _has(topics, self._wanted())
            for event, topics in zip(receipt.events, receipt.topics, strict=True)
        )

    def _wanted(self) -> Topics:
        return [hub_abi().event(self.kind.__name__).topic, *self.topics]


def receipt_call(tx_hash: Bytes32) -> Call:
    """Return the call for a transaction's receipt."""
    return "eth_getTransactionReceipt", [tx_hash]


def claimed_receipt(chain: ChainClient, tx_hash: Bytes32) -> Receipt | None:
    """Return the receipt of this transaction, of whose block nothing says yet that the chain holds it; None while there
    is no receipt.
    """
    with chain_errors():
        if (answer := chain.rpc.answer(receipt_call(tx_hash))) is None:
            return None
        fields = mapping(answer)
        if hash_of(fields.get("transactionHash")) != tx_hash:
            raise ChainUnavailable("an RPC endpoint returned the receipt of another transaction")
        logs = fields.get("logs")
        own = [
            log for log in map(parse_log, logs if isinstance(logs, list) else []) if log.address == chain.hub.address
        ]
        number, is_success = block_number(fields.get("blockNumber")), quantity(fields.get("status")) == 1
        block_hash, topics = hash_of(fields.get("blockHash")), tuple(log.topics for log in own)
        return Receipt(tx_hash, number, block_hash, tuple(map(decode_log, own)), is_success, topics)


def receipt_of(chain: ChainClient, tx_hash: Bytes32) -> Receipt | None:
    """Return the receipt, if it is this transaction's and its block is part of the chain."""
    receipt = claimed_receipt(chain, tx_hash)
    is_held = receipt is not None and chain.header(receipt.block_number).hash == receipt.block_hash
    return receipt if is_held else None


def _has(topics: Topics, wanted: Topics) -> bool:
    """Return whether a log has these topics; None matches any."""
    return len(topics) >= len(wanted) and all(
        one is None or one == other for one, other in zip(wanted, topics, strict=False)
    )


def hub_events(chain: ChainClient, first: BlockNumber, topics: Topics) -> Iterator[tuple[Log, HubEvent]]:
    """Yield the Hub's events from block ``first`` on in the order of the chain; ``chain_unavailable`` for an answer of
    another shape.

    If the chain does not have the first block, an endpoint invented it: then the log is read from the Hub's start or,
    if that is unknown, from about a day ago. For an endpoint that is slightly behind, the log is read from as far back
    as it may lag.
    """
    end, hub = chain.tip(), chain.hub.address
    with chain_errors():
        if first > end:
            recent = block_before(chain.rpc, header_at(chain.rpc, end), TOLERATED_SECONDS).number
            lags = first - end <= end - recent
            first = recent if lags else earliest_block(chain, end)
        while first <= end:
            range_of_logs = partial(logs_of_range, address=hub, topics=topics, first=first, last=end)
            logs, covered = chain.endpoint.agreed(range_of_logs, 1)
            for log in logs:
                yield log, decode_log(log)
            first = BlockNumber(covered + 1)


def bounty_topic(bounty_id: BountyId) -> Bytes32:
    """Return a bounty id as an indexed topic."""
    return bytes32(bounty_id.to_bytes(32, "big"))


def account_topic(account: Address) -> Bytes32:
    """Return an account as an indexed topic."""
    return Bytes32("0x" + account[2:].rjust(64, "0"))


def first_block(chain: ChainClient) -> BlockNumber | None:
    """Return where the Hub's log starts, if that is known; a local chain is short."""
    if chain.is_local:
        return BlockNumber(0)
    record = chain.settings.record
    return record.deploy_block if record is not None and record.hub_address == chain.hub.address else None


def earliest_block(chain: ChainClient, end: BlockNumber) -> BlockNumber:
    """Return where the Hub's log starts or, if that is unknown, a block about a day before ``end``."""
    if (start := first_block(chain)) is not None:
        return start
    return block_before(chain.rpc, header_at(chain.rpc, end), RECENT_SECONDS).number
