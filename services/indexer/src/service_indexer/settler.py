"""The settler: calls the Hub's permissionless ``settle`` when a bounty's time is up, by web3 and eth-account.

It has no authority, anyone may do the same. Its key pays gas, is never logged, and signs nothing but calls of
``settle`` on this Hub with a bounded fee; without a key it does nothing. A call is simulated first. The signed
transaction is a row before it is sent, so a restart sends the same bytes; what stays unmined is replaced under the same
nonce with a higher fee, at most up to ``MAX_FEE_WEI``, and what every endpoint refused for lack of ether by one at the
fees of that moment. A tip is bounded by those of recent blocks. The row goes when the bounty's ending is final, unless
its nonce is still unused and another row waits for it: no transaction is mined before all with lower nonces. Rows that
another key signed go at once: the present one signs anew what is due.

An endpoint that is wrong about a nonce, a fee or a receipt costs this key gas within those bounds, never money of a
bounty; what it was wrong about is corrected once it, or another one, is right. Each endpoint is sent the transaction.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any, Final

from bounty_protocol.auth.signature import account_of_key
from bounty_protocol.chain.gas import GAS_NEEDS, MAX_FEE_WEI, MAX_TIP_WEI, reasonable_tip
from bounty_protocol.chain.reverts import explain
from bounty_protocol.chain.rpc import ChainNode, ChainUnavailable, Rpc, RpcRefused
from bounty_protocol.types import Address, BountyId, ChainId
from hexbytes import HexBytes
from prometheus_client.core import GaugeMetricFamily, Metric
from service_common.config import Finding
from service_common.counters import counter_by
from service_common.db import hub_index
from service_common.db.engine import reading, writing
from service_common.db.hub_reads import Head, read_head
from service_common.log import get_logger
from sqlalchemy import Connection, Engine, Row, delete, exists, func, insert, or_, select, true, update
from web3.contract.contract import ContractFunction
from web3.exceptions import TransactionNotFound
from web3.types import Nonce, TxParams, Wei

from service_indexer.deadlines import read_due
from service_indexer.settler_tables import settlements
from service_indexer.web3_provider import Account, Web3, make_web3, usable_answers

LEAST_AFFORDABLE: Final = 20
"""Settlements that the settler's ether is to be enough for, as the alert and run.md have it."""
SETTLE_GAS: Final = GAS_NEEDS["settle"].most()
_FIRST_TIP_WEI: Final = MAX_TIP_WEI // 4
"""The most that is offered as a tip at first: raised with each of ``MAX_ATTEMPTS`` it stays within its bound."""
_TIPS_SECONDS: Final = 40
_MOST_TIPS: Final = 1_024
"""Blocks of one answer of ``eth_feeHistory``: a node gives no more."""
_FAILED: Final = 0
"""The status of a transaction that was mined and did nothing."""
_SETTLE: Final = {
    "type": "function",
    "name": "settle",
    "inputs": [{"name": "bountyId", "type": "uint256"}],
    "outputs": [],
    "stateMutability": "nonpayable",
}
_LACKS_ETHER: Final = ("insufficient funds", "insufficientfunds", "upfront cost")
"""As geth, reth and Erigon say it, Nethermind, and Besu."""
STUCK_AFTER: Final = timedelta(seconds=60)
MAX_ATTEMPTS: Final = 10
"""One each ``STUCK_AFTER``, then one each ``RESTED_AFTER``: an outage uses the first ones up, and fees may rise."""
RESTED_AFTER: Final = timedelta(hours=1)
FAILED_AFTER: Final = timedelta(days=1)
"""In its place where the last one is in a block and failed, which is paid for."""
SETTLEMENTS: Final = counter_by(
    "event",
    ("sent", "sent_again", "replaced", "confirmed", "refused", "not_accepted", "overtaken", "failed"),
    "service_settlements_total",
    "Settlements of this deployment's settler: `replaced` with a higher fee, `confirmed` by the index, `refused` by "
    "the Hub in simulation, `not_accepted` by a node, `overtaken` by another transaction of its nonce, `failed` in a "
    "block",
)

log = get_logger(__name__)


def _affordable(rpc: Rpc, account: Address) -> int:
    """Return how many settlements the account pays for at today's fees."""
    w3 = make_web3(rpc.batch)
    with usable_answers():
        balance, price = w3.eth.get_balance(Web3.to_checksum_address(account)), w3.eth.gas_price
    return int(balance) // (SETTLE_GAS * max(1, price))


def settler_figures(rpc: Rpc, account: Address) -> Iterator[Metric]:
    """Yield how many more settlements the settler's key pays for at today's fees."""
    yield GaugeMetricFamily(
        "service_settler_affordable",
        "Settlements that the settler's key can pay for, at current fees",
        _affordable(rpc, account),
    )


def check_gas(rpc: Rpc, account: Address) -> str:
    """Return for how many settlements the account has ether; ``Finding`` if it is too little for the alert."""
    affordable = _affordable(rpc, account)
    words = f"{account} can pay for {affordable:,} settlements"
    if affordable < LEAST_AFFORDABLE:
        raise Finding(f"{words}: send it ether")
    return words


@dataclass(frozen=True, slots=True, order=True)
class GasFees:
    """EIP-1559 fees in wei per unit of gas, within what the settler may spend."""

    max_fee: int
    tip: int

    def __post_init__(self) -> None:
        if not 0 <= self.tip <= self.max_fee <= MAX_FEE_WEI:
            raise ValueError("the tip must be within the whole fee, and the fee within the bound")

    @classmethod
    def capped(cls, max_fee: int, tip: int) -> "GasFees":
        """Return these fees, capped at what may be spent."""
        return cls(min(max_fee, MAX_FEE_WEI), min(tip, max_fee, MAX_TIP_WEI))

    def raised(self) -> "GasFees":
        """Return fees that nodes accept in a replacement: an eighth more than before, rounded up."""
        return self.capped(self.max_fee + self.max_fee // 8 + 1, self.tip + self.tip // 8 + 1)


@dataclass(frozen=True, slots=True)
class Settler:
    """One deployment's settler. ``w3`` reads from the first endpoint that answers; each is sent what is signed."""

    engine: Engine
    rpc: Rpc
    w3: Web3
    chain_id: ChainId
    hub: Address
    account: Address
    key: bytes = field(repr=False)

    def settle_due(self) -> int:
        """Settle what is due and not sent yet, resend what is stuck; return how many transactions were sent."""
        with reading(self.engine) as connection:
            head = read_head(connection, self.chain_id)
            if head is None or head.halted is not None:
                return 0
            if head.hub_address != self.hub:  # the same numbers are other bounties there
                log.warning("cannot settle", reason="the index in this database belongs to another Hub")
                return 0
            due = read_due(connection, head)
        self._forget_other_keys()
        self._forget_final(head)
        with reading(self.engine) as connection:
            sent = _read_sent(connection)
        done = sum(self._send_first(bounty_id, head) for bounty_id in due if bounty_id not in sent)
        # Rows below a due one are sent, too, also where somebody else settled the bounty: that only uses the nonce.
        newest = max((nonce for bounty_id, nonce in sent.items() if bounty_id in due), default=-1)
        return done + sum(self._resend(bounty_id, head) for bounty_id, nonce in sent.items() if nonce <= newest)

    def _send_first(self, bounty_id: BountyId, head: Head) -> bool:
        if not self._would_succeed(bounty_id):
            return False
        with writing(self.engine) as connection:
            # Committed before it is sent: a settler that dies in between finds the row and sends the same bytes.
            row = self._signed(bounty_id, self._next_nonce(connection), self._current_fees(head))
            connection.execute(insert(settlements).values(bounty_id=bounty_id, attempts=1, **row))
        return self._broadcast(bounty_id, str(row["raw_transaction"]), "sent")

    def _resend(self, bounty_id: BountyId, head: Head) -> bool:
        """Send the same bytes again, or after a while a replacement with a higher fee.

        Nothing is sent if it is mined, unless it failed and would now succeed.
        """
        with writing(self.engine) as connection:
            c, age = settlements.c, func.now() - settlements.c.sent_at
            is_young = (age > STUCK_AFTER) & (c.attempts < MAX_ATTEMPTS)
            may_change, may_pay = is_young | (age > RESTED_AFTER), is_young | (age > FAILED_AFTER)
            columns = may_change.label("may_change"), may_pay.label("may_pay")
            row = connection.execute(select(settlements, *columns).where(c.bounty_id == bounty_id)).one()
            status = self._status(row.tx_hash)
            raw, event = row.raw_transaction, "sent_again"
            if status is not None:
                if status != _FAILED or not row.may_pay or not self._would_succeed(bounty_id):
                    return False  # the index will show it final, or it would fail again
                SETTLEMENTS.labels("failed").inc()
                raw = self._attempted(connection, row, self._next_nonce(connection), self._current_fees(head))
            elif self._used() > row.nonce:
                # Its nonce was used otherwise (another settlement of this key): it can never be mined.
                connection.execute(delete(settlements).where(c.bounty_id == bounty_id))
                SETTLEMENTS.labels("overtaken").inc()
                return False
            elif row.may_change or not row.attempts:
                raw = self._replacement(connection, row, head)
                event = "replaced" if row.attempts else event
        return self._broadcast(bounty_id, raw, event)

    def _replacement(self, connection: Connection, row: Row[Any], head: Head) -> str:
        """Sign again with the same nonce, so that at most one attempt is mined, or with a lower free one.

        Nothing is mined above a free nonce: an endpoint was wrong about the used ones.
        """
        fees = self._current_fees(head)
        if row.attempts:  # else no node has one that would have to be outbid
            raised = GasFees(int(row.max_fee), int(row.tip)).raised()
            fees = GasFees.capped(max(raised.max_fee, fees.max_fee), max(raised.tip, fees.tip))
        return self._attempted(connection, row, min(row.nonce, self._next_nonce(connection)), fees)

    def _attempted(self, connection: Connection, row: Row[Any], nonce: int, fees: GasFees) -> str:
        """Replace the row's attempt by a further one; return its bytes."""
        signed = self._signed(row.bounty_id, nonce, fees)
        connection.execute(
            update(settlements)
            .where(settlements.c.bounty_id == row.bounty_id)
            .values(attempts=row.attempts + 1, sent_at=func.now(), **signed)
        )
        return str(signed["raw_transaction"])

    def _signed(self, bounty_id: BountyId, nonce: int, fees: GasFees) -> dict[str, object]:
        """Return a signed call, as the columns that hold it. Every field is set here, so that web3 asks for none."""
        fields: TxParams = {
            "chainId": self.chain_id,
            "nonce": Nonce(nonce),
            "maxFeePerGas": Wei(fees.max_fee),
            "maxPriorityFeePerGas": Wei(fees.tip),
            "gas": SETTLE_GAS,
            "value": Wei(0),
        }
        transaction = self._call(bounty_id).build_transaction(fields)
        signed = Account.sign_transaction(dict(transaction), self.key)
        return {
            "account": self.account,
            "nonce": nonce,
            "max_fee": fees.max_fee,
            "tip": fees.tip,
            "raw_transaction": signed.raw_transaction.to_0x_hex(),
            "tx_hash": signed.hash.to_0x_hex(),
        }

    def _call(self, bounty_id: BountyId) -> ContractFunction:
        """Return the call of ``settle``, to the Hub alone."""
        hub = self.w3.eth.contract(Web3.to_checksum_address(self.hub), abi=[_SETTLE])
        return hub.functions.settle(bounty_id)

    def _broadcast(self, bounty_id: BountyId, raw: str, event: str) -> bool:
        """Send it to every endpoint: a single one may falsely claim to have forwarded it."""

        def send(node: ChainNode) -> RpcRefused | str:
            try:
                return make_web3(node.batch).eth.send_raw_transaction(HexBytes(raw)).to_0x_hex()
            except RpcRefused as refusal:
                return refusal

        answers = self.rpc.each(send) or [send(self.rpc)]
        refusals = [each for each in answers if isinstance(each, RpcRefused)]
        is_sent = len(refusals) < len(answers)
        reasons = [each.message[:200] for each in refusals if "already" not in each.message.lower()]
        if reasons:
            named = {"bounty_id": bounty_id, "account": self.account}
            log.warning("settlement not accepted", **named, reason=reasons[0], by=len(reasons))
        if is_sent:
            SETTLEMENTS.labels(event).inc()
            log.info("settlement sent", bounty_id=bounty_id, tx_hash=Web3.keccak(HexBytes(raw)).to_0x_hex())
        elif reasons:
            SETTLEMENTS.labels("not_accepted").inc()
            if all(any(words in each.message.lower() for words in _LACKS_ETHER) for each in refusals):
                with writing(self.engine) as connection:
                    ours = settlements.c.bounty_id == bounty_id
                    connection.execute(update(settlements).where(ours).values(attempts=0))
        return is_sent

    def _would_succeed(self, bounty_id: BountyId) -> bool:
        sender: TxParams = {"from": Web3.to_checksum_address(self.account), "gas": SETTLE_GAS}
        try:
            with usable_answers():
                self._call(bounty_id).call(sender, "latest")
        except RpcRefused as refusal:
            SETTLEMENTS.labels("refused").inc()
            log.info("settlement not possible", bounty_id=bounty_id, reason=explain(refusal).code)
            return False
        return True

    def _next_nonce(self, connection: Connection) -> int:
        """Return the lowest nonce that is neither used nor reserved here: transactions with higher nonces wait for
        it.
        """
        kept = set(connection.execute(select(settlements.c.nonce)).scalars())
        return next(nonce for nonce in count(self._used()) if nonce not in kept)

    def _used(self) -> int:
        """Return how many nonces of this account are used."""
        with usable_answers():
            return int(self.w3.eth.get_transaction_count(Web3.to_checksum_address(self.account), "latest"))

    def _status(self, tx_hash: str) -> int | None:
        """Return the status of a mined transaction; None if it is in no block."""
        with usable_answers():
            try:
                return self.w3.eth.get_transaction_receipt(HexBytes(tx_hash))["status"]
            except TransactionNotFound:
                return None

    def _current_fees(self, head: Head) -> GasFees:
        """Return fees by the endpoint's suggested tip and the fees of the last seconds' blocks, within the bounds."""
        blocks = min(_MOST_TIPS, max(1, head.blocks_in(_TIPS_SECONDS)))
        try:
            with usable_answers():
                suggested, history = self.w3.eth.max_priority_fee, self.w3.eth.fee_history(blocks, "latest", [50])
                recent = [row[0] for row in history.get("reward") or [] if row]
                tip = min(reasonable_tip(suggested, recent), _FIRST_TIP_WEI)
                return GasFees.capped(2 * history["baseFeePerGas"][-1] + tip, tip)  # the next block's base fee
        except RpcRefused as refusal:  # the next run reads them
            raise ChainUnavailable("an RPC endpoint gave no fees of recent blocks") from refusal

    def _forget_other_keys(self) -> None:
        """Delete rows of a key that this one replaced: their nonces say nothing about this account. Transactions sent
        for them may still be mined, which costs this key at most one failed transaction.
        """
        with writing(self.engine) as connection:
            others = delete(settlements).where(settlements.c.account != self.account)
            if count := connection.execute(others).rowcount:
                log.info("settlements signed by another key are signed again", account=self.account, bounties=count)

    def _forget_final(self, head: Head) -> None:
        """Delete rows of bounties whose ending is final, unless another bounty's transaction waits for their nonce."""
        c, ending = settlements.c, hub_index.finalizations.c
        final = exists().where(ending.bounty_id == c.bounty_id, ending.block_number <= head.finalized_number)
        with writing(self.engine) as connection:
            waiting = connection.execute(select(func.max(c.nonce)).where(~final)).scalar()
            needless = true() if waiting is None else or_(c.nonce > waiting, c.nonce < self._used())
            confirmed = connection.execute(delete(settlements).where(final, needless)).rowcount
        SETTLEMENTS.labels("confirmed").inc(confirmed)


def make_settler(engine: Engine, rpc: Rpc, key: bytes, chain_id: ChainId, hub: Address) -> Settler:
    """Make the settler of one Hub with a gas key."""
    return Settler(engine, rpc, make_web3(rpc.batch), chain_id, hub, account_of_key(key), key)


def _read_sent(connection: Connection) -> dict[BountyId, int]:
    """Read the bounties with a row and its nonce, the lowest first."""
    c = settlements.c
    rows = connection.execute(select(c.bounty_id, c.nonce).order_by(c.nonce))
    return {BountyId(bounty_id): nonce for bounty_id, nonce in rows}
