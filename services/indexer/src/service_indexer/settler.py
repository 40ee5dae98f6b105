"""The settler: calls the Hub's permissionless ``settle`` when a bounty's time is up.

Promises: it has no authority, anyone may do the same; without a gas key it does nothing. A call is simulated first;
the signed transaction is a row before it is sent, so a restart sends the same bytes; what stays unmined is replaced
under the same nonce with a higher fee, at most up to ``MAX_FEE_WEI``. The row goes when the bounty is indexed final.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from service_common.chain.abi import hub_abi
from service_common.chain.json_rpc import JsonRpc, RpcRefused, mapping, quantity
from service_common.chain.reverts import explain
from service_common.counters import counter_by
from service_common.db import hub_index
from service_common.db.engine import reading, writing
from service_common.db.hub_reads import read_head
from service_common.db.settler import settlements
from service_common.keccak import keccak256
from service_common.log import get_logger
from service_common.types import BountyId, ChainId
from sqlalchemy import Connection, Engine, delete, exists, func, insert, select, update

from service_indexer.due import read_due
from service_indexer.gas_wallet import Fees, GasWallet

STUCK_AFTER: Final = timedelta(seconds=60)
MAX_FEE_WEI: Final = 500 * 10**9
MAX_ATTEMPTS: Final = 10
SETTLEMENTS: Final = counter_by(
    "event",
    ("sent", "sent_again", "replaced", "confirmed", "refused", "not_accepted", "overtaken"),
    "service_settlements_total",
    "Settlements of this deployment's settler, by what became of them",
)
"""``refused``: by the Hub in simulation; ``not_accepted``: by the node; ``overtaken``: the nonce was used otherwise."""

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Settler:
    """One deployment's settler."""

    engine: Engine
    rpc: JsonRpc
    wallet: GasWallet

    def settle_due(self, chain_id: ChainId) -> int:
        """Send what is due and not sent yet, resend what is stuck; how many transactions were sent."""
        with reading(self.engine) as connection:
            head = read_head(connection, chain_id)
            if head is None or head.halted is not None:
                return 0
            due, sent = read_due(connection, head), _read_sent(connection)
        self._forget_final()
        done = sum(self._send_first(bounty_id) for bounty_id in due if bounty_id not in sent)
        return done + sum(self._resend(bounty_id) for bounty_id in due if bounty_id in sent)

    def _send_first(self, bounty_id: BountyId) -> bool:
        if not self._would_succeed(bounty_id):
            return False
        with writing(self.engine) as connection:
            nonce = self._next_nonce(connection)
            fees = self._current_fees()
            raw = self.wallet.sign_settle(bounty_id, nonce, fees)
            row = {
                "bounty_id": bounty_id,
                "nonce": nonce,
                "raw_transaction": raw,
                "tx_hash": _hash(raw),
                "max_fee_per_gas": fees.max_fee,
                "attempts": 1,
            }
            connection.execute(insert(settlements).values(row))
        return self._broadcast(bounty_id, raw, "sent")

    def _resend(self, bounty_id: BountyId) -> bool:
        """The same bytes again, or after a while a replacement with a higher fee."""
        with writing(self.engine) as connection:
            row = connection.execute(
                select(settlements, (settlements.c.sent_at < func.now() - STUCK_AFTER).label("stuck")).where(
                    settlements.c.bounty_id == bounty_id
                )
            ).one()
            if self.rpc.call("eth_getTransactionReceipt", row.tx_hash) is not None:
                return False  # mined; the index will show it final
            if quantity(self.rpc.call("eth_getTransactionCount", self.wallet.address, "latest")) > row.nonce:
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
        raised, current = Fees(old_fee, old_fee).raised(), self._current_fees()
        fees = _capped(max(raised.max_fee, current.max_fee), max(raised.tip, current.tip))
        raw = self.wallet.sign_settle(bounty_id, nonce, fees)
        values = {
            "raw_transaction": raw,
            "tx_hash": _hash(raw),
            "max_fee_per_gas": fees.max_fee,
            "attempts": attempts + 1,
            "sent_at": func.now(),
        }
        connection.execute(update(settlements).where(settlements.c.bounty_id == bounty_id).values(values))
        return raw

    def _broadcast(self, bounty_id: BountyId, raw: str, event: str) -> bool:
        try:
            self.rpc.call("eth_sendRawTransaction", raw)
        except RpcRefused as refusal:
            if "already" not in refusal.message.lower():
                SETTLEMENTS.labels("not_accepted").inc()
                log.warning("settlement not accepted", bounty_id=bounty_id, reason=refusal.message[:200])
            return False
        SETTLEMENTS.labels(event).inc()
        log.info("settlement sent", bounty_id=bounty_id, tx_hash=_hash(raw))
        return True

    def _would_succeed(self, bounty_id: BountyId) -> bool:
        data = "0x" + hub_abi().functions["settle"].encode(bounty_id).hex()
        try:
            self.rpc.call("eth_call", {"from": self.wallet.address, "to": self.wallet.hub, "data": data}, "latest")
        except RpcRefused as refusal:
            SETTLEMENTS.labels("refused").inc()
            log.info("settlement not possible", bounty_id=bounty_id, reason=explain(refusal).code)
            return False
        return True

    def _next_nonce(self, connection: Connection) -> int:
        """Above everything mined, pending, or kept here and not sent yet."""
        pending = quantity(self.rpc.call("eth_getTransactionCount", self.wallet.address, "pending"))
        kept = connection.execute(select(func.max(settlements.c.nonce))).scalar()
        return max(pending, 0 if kept is None else kept + 1)

    def _current_fees(self) -> Fees:
        tip = quantity(self.rpc.call("eth_maxPriorityFeePerGas"))
        block = mapping(self.rpc.call("eth_getBlockByNumber", "latest", False))
        return _capped(2 * quantity(block.get("baseFeePerGas", "0x0")) + tip, tip)

    def _forget_final(self) -> None:
        """Rows of bounties that the index shows final are history."""
        final = exists().where(hub_index.finalizations.c.bounty_id == settlements.c.bounty_id)
        with writing(self.engine) as connection:
            confirmed = connection.execute(delete(settlements).where(final)).rowcount
        SETTLEMENTS.labels("confirmed").inc(confirmed)


def _capped(max_fee: int, tip: int) -> Fees:
    """Fees within what the settler may spend."""
    max_fee = min(MAX_FEE_WEI, max_fee)
    return Fees(max_fee, min(tip, max_fee))


def _read_sent(connection: Connection) -> set[BountyId]:
    return {BountyId(row.bounty_id) for row in connection.execute(select(settlements.c.bounty_id))}


def _hash(raw: str) -> str:
    return "0x" + keccak256(bytes.fromhex(raw[2:])).hex()
