"""The settler: calls the Hub's permissionless ``settle`` when a bounty's time is up.

It has no authority, anyone may do the same. Its key pays gas, is never logged, and signs nothing but calls of
``settle`` on this Hub with a bounded fee; without a key it does nothing. A call is simulated first. The signed
transaction is a row before it is sent, so a restart sends the same bytes; what stays unmined is replaced under the same
nonce with a higher fee, at most up to ``MAX_FEE_WEI``. A tip is bounded by those of recent blocks. The row goes when
the bounty's ending is final, unless its nonce is still unused and another row waits for it: no transaction is mined
before all with lower nonces.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any, Final, cast

from bounty_protocol.chain.gas import GAS_NEEDS, MAX_FEE_WEI, reasonable_tip
from bounty_protocol.chain.json_rpc import ChainUnavailable, JsonRpc, RpcRefused, quantity
from bounty_protocol.chain.reverts import explain
from bounty_protocol.types import Address, BountyId, ChainId
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from service_common.counters import counter_by
from service_common.db import hub_index
from service_common.db.engine import reading, writing
from service_common.db.hub_reads import Head, read_head
from service_common.log import get_logger
from service_common.web3_provider import Account, Contract, LocalAccount, Web3, hub_contract, usable_answers
from sqlalchemy import Connection, Engine, Row, delete, exists, func, insert, or_, select, true, update
from web3.contract.contract import ContractFunction
from web3.eth import Eth
from web3.exceptions import TransactionNotFound
from web3.types import Nonce, TxParams, Wei

from service_indexer.due import read_due
from service_indexer.settler_tables import settlements

SETTLE_GAS: Final = GAS_NEEDS["settle"].most()
_RECENT_BLOCKS: Final = 20
STUCK_AFTER: Final = timedelta(seconds=60)
MAX_ATTEMPTS: Final = 10
SETTLEMENTS: Final = counter_by(
    "event",
    ("sent", "sent_again", "replaced", "confirmed", "refused", "not_accepted", "overtaken"),
    "service_settlements_total",
    "Settlements of this deployment's settler: `replaced` with a higher fee, `confirmed` by the index, `refused` by "
    "the Hub in simulation, `not_accepted` by a node, `overtaken` by another transaction of its nonce",
)

log = get_logger(__name__)


class SettlerCollector(Collector):
    """How many more settlements the settler's key pays for at today's fees; nothing while no node answers."""

    def __init__(self, rpc: JsonRpc, account: Address) -> None:
        self._rpc, self._account = rpc, account

    def collect(self) -> Iterator[Metric]:
        """One gauge."""
        try:
            balance = quantity(self._rpc.call("eth_getBalance", self._account, "latest"))
            price = quantity(self._rpc.call("eth_gasPrice"))
        except (ChainUnavailable, RpcRefused):
            return
        affordable = balance // (SETTLE_GAS * max(1, price))
        yield GaugeMetricFamily(
            "service_settler_affordable",
            "Settlements that the settler's key pays for, at the fees of this moment",
            affordable,
        )


@dataclass(frozen=True, slots=True)
class GasFees:
    """EIP-1559 fees in wei per unit of gas, within what the settler may spend."""

    max_fee: int
    tip: int

    def __post_init__(self) -> None:
        if not 0 <= self.tip <= self.max_fee <= MAX_FEE_WEI:
            raise ValueError("the tip must be within the whole fee, and the fee within the bound")

    @classmethod
    def capped(cls, max_fee: int, tip: int) -> "GasFees":
        """These, or as much of them as may be spent."""
        return cls(min(max_fee, MAX_FEE_WEI), min(tip, max_fee, MAX_FEE_WEI))

    def raised(self) -> "GasFees":
        """High enough that nodes accept it as a replacement: an eighth more than before, rounded up."""
        return self.capped(self.max_fee + self.max_fee // 8 + 1, self.tip + self.tip // 8 + 1)


@dataclass(frozen=True, slots=True)
class Settler:
    """One deployment's settler."""

    engine: Engine
    chain_id: ChainId
    hub: Contract
    account: LocalAccount = field(repr=False)

    def settle_due(self) -> int:
        """Send what is due and not sent yet, resend what is stuck; how many transactions were sent."""
        with reading(self.engine) as connection:
            head = read_head(connection, self.chain_id)
            if head is None or head.halted is not None:
                return 0
            if head.hub_address != str(self.hub.address).lower():  # the same numbers are other bounties there
                log.warning("cannot settle", reason="the index in this database is of another Hub")
                return 0
            due = read_due(connection, head)
        self._forget_final(head)
        with reading(self.engine) as connection:
            sent = _read_sent(connection)
        done = sum(self._send_first(bounty_id) for bounty_id in due if bounty_id not in sent)
        # Rows below a due one are sent, too, also where somebody else settled the bounty: that only uses the nonce.
        newest = max((nonce for bounty_id, nonce in sent.items() if bounty_id in due), default=-1)
        return done + sum(self._resend(bounty_id) for bounty_id, nonce in sent.items() if nonce <= newest)

    def _send_first(self, bounty_id: BountyId) -> bool:
        if not self._would_succeed(bounty_id):
            return False
        with writing(self.engine) as connection:
            # Committed before it is sent: a settler that dies in between finds the row and sends the same bytes.
            row = self._signed(bounty_id, self._next_nonce(connection), self._current_fees())
            connection.execute(insert(settlements).values(bounty_id=bounty_id, attempts=1, **row))
        return self._broadcast(bounty_id, str(row["raw_transaction"]), "sent")

    def _resend(self, bounty_id: BountyId) -> bool:
        """The same bytes again, or after a while a replacement with a higher fee."""
        with writing(self.engine) as connection:
            row = connection.execute(
                select(settlements, (settlements.c.sent_at < func.now() - STUCK_AFTER).label("stuck")).where(
                    settlements.c.bounty_id == bounty_id
                )
            ).one()
            if self._is_mined(row):
                return False  # the index will show it final
            if self._used() > row.nonce:
                # Its nonce was used otherwise (another settlement of this key): it can never be mined.
                connection.execute(delete(settlements).where(settlements.c.bounty_id == bounty_id))
                SETTLEMENTS.labels("overtaken").inc()
                return False
            raw, event = row.raw_transaction, "sent_again"
            if row.stuck and row.attempts < MAX_ATTEMPTS:
                raw = self._replacement(connection, bounty_id, row.nonce, int(row.max_fee_per_gas), row.attempts)
                event = "replaced"
        return self._broadcast(bounty_id, raw, event)

    def _replacement(self, connection: Connection, bounty_id: BountyId, nonce: int, old_fee: int, attempts: int) -> str:
        # The same nonce: of all attempts at most one is mined, regardless of which one a node has kept.
        raised, current = GasFees(old_fee, old_fee).raised(), self._current_fees()
        fees = GasFees.capped(max(raised.max_fee, current.max_fee), max(raised.tip, current.tip))
        row = self._signed(bounty_id, Nonce(nonce), fees)
        connection.execute(
            update(settlements)
            .where(settlements.c.bounty_id == bounty_id)
            .values(attempts=attempts + 1, sent_at=func.now(), **row)
        )
        return str(row["raw_transaction"])

    def _signed(self, bounty_id: BountyId, nonce: Nonce, fees: GasFees) -> dict[str, object]:
        """A signed call, as the columns that hold it."""
        transaction: TxParams = {
            "chainId": self.chain_id,
            "nonce": nonce,
            "value": Wei(0),
            "gas": SETTLE_GAS,
            "maxFeePerGas": Wei(fees.max_fee),
            "maxPriorityFeePerGas": Wei(fees.tip),
        }
        whole = self._call(bounty_id).build_transaction(transaction)
        signed = self.account.sign_transaction(cast("dict[str, Any]", whole))
        return {
            "nonce": nonce,
            "raw_transaction": signed.raw_transaction.to_0x_hex(),
            "tx_hash": signed.hash.to_0x_hex(),
            "max_fee_per_gas": fees.max_fee,
        }

    @usable_answers()
    def _broadcast(self, bounty_id: BountyId, raw: str, event: str) -> bool:
        transaction = bytes.fromhex(raw[2:])
        try:
            self._eth.send_raw_transaction(transaction)
        except RpcRefused as refusal:
            if "already" not in refusal.message.lower():
                SETTLEMENTS.labels("not_accepted").inc()
                log.warning("settlement not accepted", bounty_id=bounty_id, reason=refusal.message[:200])
            return False
        SETTLEMENTS.labels(event).inc()
        log.info("settlement sent", bounty_id=bounty_id, tx_hash=Web3.keccak(transaction).to_0x_hex())
        return True

    @usable_answers()
    def _would_succeed(self, bounty_id: BountyId) -> bool:
        try:
            self._call(bounty_id).call({"from": self.account.address})
        except RpcRefused as refusal:
            SETTLEMENTS.labels("refused").inc()
            log.info("settlement not possible", bounty_id=bounty_id, reason=explain(refusal).code)
            return False
        return True

    @usable_answers()
    def _used(self) -> int:
        """How many nonces are."""
        return int(self._eth.get_transaction_count(self.account.address, "latest"))

    @usable_answers()
    def _is_mined(self, row: Row[Any]) -> bool:
        try:
            self._eth.get_transaction_receipt(row.tx_hash)
        except TransactionNotFound:
            return False
        return True

    @usable_answers()
    def _next_nonce(self, connection: Connection) -> Nonce:
        """The lowest that is not mined, pending, or kept here and not sent yet: what is kept above it waits for it."""
        pending = self._eth.get_transaction_count(self.account.address, "pending")
        kept = set(connection.execute(select(settlements.c.nonce)).scalars())
        return next(Nonce(nonce) for nonce in count(pending) if nonce not in kept)

    @usable_answers()
    def _current_fees(self) -> GasFees:
        history = self._eth.fee_history(_RECENT_BLOCKS, "latest", [50])
        tip = reasonable_tip(self._eth.max_priority_fee, [row[0] for row in history.get("reward", ()) if row])
        base = history["baseFeePerGas"][-1]  # the next block's
        return GasFees.capped(2 * base + tip, tip)

    def _forget_final(self, head: Head) -> None:
        """Rows of bounties whose ending is final are history, unless one of another bounty waits for their nonce."""
        c, ending = settlements.c, hub_index.finalizations.c
        final = exists().where(ending.bounty_id == c.bounty_id, ending.block_number <= head.finalized_number)
        with writing(self.engine) as connection:
            waiting = connection.execute(select(func.max(c.nonce)).where(~final)).scalar()
            needless = true() if waiting is None else or_(c.nonce > waiting, c.nonce < self._used())
            confirmed = connection.execute(delete(settlements).where(final, needless)).rowcount
        SETTLEMENTS.labels("confirmed").inc(confirmed)

    def _call(self, bounty_id: BountyId) -> ContractFunction:
        function: ContractFunction = self.hub.functions.settle(bounty_id)
        return function

    @property
    def _eth(self) -> Eth:
        return self.hub.w3.eth


def make_settler(engine: Engine, w3: Web3, key: bytes, chain_id: ChainId, hub: Address) -> Settler:
    """The settler of one Hub with a gas key."""
    return Settler(engine, chain_id, hub_contract(w3, hub), Account.from_key(key))


def _read_sent(connection: Connection) -> dict[BountyId, int]:
    """Bounties with a row and its nonce, the lowest first."""
    c = settlements.c
    rows = connection.execute(select(c.bounty_id, c.nonce).order_by(c.nonce))
    return {BountyId(bounty_id): nonce for bounty_id, nonce in rows}
