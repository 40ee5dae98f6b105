"""Sending one transaction exactly once.

Promises: the signed transaction is in the journal before it is sent, so a run after a kill sends the same bytes again
or finds their receipt; a second transaction for the same step is never made while the first may still be mined. Calls
are simulated first, so a refusal costs nothing and comes with its reason.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from service_common.chain.abi import hub_abi
from service_common.chain.events import HubEvent, decode_log, parse_log
from service_common.chain.json_rpc import RpcRefused, block_number, hash_of, mapping, quantity
from service_common.domain.commitments import keccak256
from service_common.types import Address, BlockNumber, Bytes32, bytes32, checksum_address

from service_cli.client.chain import ChainClient, chain_errors
from service_cli.client.journal import Journal
from service_cli.client.signer import LocalSigner
from service_cli.outcome import Failed, Refused
from service_cli.output import say

RECEIPT_SECONDS: Final = 180.0
_POLL_SECONDS: Final = 0.3
_GAS_MARGIN: Final = 1.25


@dataclass(frozen=True, slots=True)
class HubCall:
    """A call of the Hub: what will be sent, and in words."""

    function: str
    arguments: Sequence[object]
    words: str

    @property
    def data(self) -> str:
        """Call data."""
        return "0x" + hub_abi().functions[self.function].encode(*self.arguments).hex()


@dataclass(frozen=True, slots=True)
class Receipt:
    """A mined, successful transaction."""

    tx_hash: Bytes32
    block_number: BlockNumber
    events: tuple[HubEvent, ...]


def simulate(chain: ChainClient, sender: Address, call: HubCall) -> None:
    """Run the call without sending it; a revert is refused with its sentence."""
    with chain_errors():
        chain.rpc.call("eth_call", {"from": sender, "to": chain.hub.address, "data": call.data}, "latest")


def send(chain: ChainClient, signer: LocalSigner, call: HubCall, journal: Journal, step: str) -> Receipt:
    """Send the call once and wait for its receipt; continues an earlier run's transaction."""
    raw = journal.text(step)
    if raw is None:
        simulate(chain, signer.address, call)
        raw = _sign(chain, signer, call)
        journal.note(step, raw)
    tx_hash = bytes32(keccak256(bytes.fromhex(raw[2:])))
    return _deliver(chain, raw, tx_hash, journal, step)


def _sign(chain: ChainClient, signer: LocalSigner, call: HubCall) -> str:
    with chain_errors():
        request = {"from": signer.address, "to": chain.hub.address, "data": call.data}
        gas = int(quantity(chain.rpc.call("eth_estimateGas", request)) * _GAS_MARGIN)
        nonce = quantity(chain.rpc.call("eth_getTransactionCount", signer.address, "pending"))
        tip = quantity(chain.rpc.call("eth_maxPriorityFeePerGas"))
        base = quantity(mapping(chain.rpc.call("eth_getBlockByNumber", "latest", False)).get("baseFeePerGas", "0x0"))
    fee = 2 * base + tip
    if (balance := chain.balance(signer.address)) < gas * fee:
        message = f"{signer.address} holds {balance} wei; the transaction may cost {gas * fee}."
        raise Refused("gas_insufficient", message, next_action="Add ether to this account for gas.")
    fields = {
        "chainId": chain.chain_id,
        "type": 2,
        "nonce": nonce,
        "to": checksum_address(chain.hub.address),
        "value": 0,
        "data": call.data,
        "gas": gas,
        "maxFeePerGas": fee,
        "maxPriorityFeePerGas": tip,
    }
    return "0x" + signer.sign_transaction(fields, call.words).hex()


def _deliver(chain: ChainClient, raw: str, tx_hash: Bytes32, journal: Journal, step: str) -> Receipt:
    """Broadcast until a receipt is there; broadcasting the same bytes again is harmless."""
    ends = time.monotonic() + RECEIPT_SECONDS
    announced = False
    while time.monotonic() < ends:
        with chain_errors():
            receipt = chain.rpc.call("eth_getTransactionReceipt", tx_hash)
        if receipt is not None:
            return _read_receipt(chain, mapping(receipt), journal, step)
        if not announced:
            say(f"sent transaction {tx_hash}; waiting for its block")
            announced = True
            _broadcast(chain, raw, journal, step)
        time.sleep(_POLL_SECONDS)
    message = f"Transaction {tx_hash} is not mined yet."
    raise Failed(
        "transaction_pending", message, next_action="Run the command again: it waits for the same transaction."
    )


def _broadcast(chain: ChainClient, raw: str, journal: Journal, step: str) -> None:
    try:
        with chain_errors():
            chain.rpc.call("eth_sendRawTransaction", raw)
    except Refused as refusal:
        cause = refusal.__cause__
        words = cause.message.lower() if isinstance(cause, RpcRefused) else ""
        if "already known" in words or "already imported" in words:
            return
        if "nonce too low" in words:
            # Either these very bytes were mined a moment ago (the next look finds the receipt) or another transaction
            # took their nonce, and then they can never be mined.
            if chain.rpc.call("eth_getTransactionReceipt", bytes32(keccak256(bytes.fromhex(raw[2:])))) is not None:
                return
            journal.forget(step)
            message = "Another transaction of this account took the nonce of the one prepared."
            raise Refused("transaction_replaced", message, next_action="Run the command again.") from cause
        journal.forget(step)
        message = "The RPC endpoint did not accept the transaction."
        raise Refused(
            "transaction_refused", message, next_action="Check the account's ether, then try again."
        ) from cause


def _read_receipt(chain: ChainClient, receipt: dict[str, object], journal: Journal, step: str) -> Receipt:
    tx_hash = hash_of(receipt.get("transactionHash"))
    if quantity(receipt.get("status")) != 1:
        journal.forget(step)
        message = f"Transaction {tx_hash} was mined and reverted; nothing changed."
        raise Refused("transaction_reverted", message, next_action="Re-read the bounty, then run the command again.")
    logs = receipt.get("logs")
    events = [
        decode_log(log)
        for log in map(parse_log, logs if isinstance(logs, list) else [])
        if log.address == chain.hub.address
    ]
    return Receipt(tx_hash, block_number(receipt.get("blockNumber")), tuple(events))
